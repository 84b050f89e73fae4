"""Options of `reissue audit` that say how releases made elsewhere are read, and the file that keeps all options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

FILES = {"registry", "git", "hierarchy", "present", "compromised"}
"""Options that name files or folders."""
NOT_KEPT = {
    "target",
    "html",
    "findings",
    "long",
    "force",
    "show_people",
    "show_values",
    "as_json",
    "options",
    "save",
    "yes",
    "help",
}
"""What is not a decision about the releases, or is kept as what followed from it."""


def _from_file(context: typer.Context, path: Path | None) -> Path | None:
    """Take the options of a file where the command line has none."""
    if path is not None:
        context.default_map = {**(context.default_map or {}), **_defaults(context, path)}
    return path


Keep = Annotated[
    str | None,
    typer.Option(help="Quasi-identifiers that would be left out by default: row numbers, what follows from others."),
]
Labels = Annotated[
    str | None, typer.Option(help="Columns whose cells are labels though they look like numbers or intervals.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help='Texts that mean a missing value: "Not Reported,Unknown", or COLUMN=text,text for one column. May be '
        "repeated."
    ),
]
Rename = Annotated[
    list[str] | None, typer.Option(metavar="OLD=NEW", help="Call a column by another name. May be repeated.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Accept the renamings that are proposed; each is noted.")]
Counts = Annotated[str | None, typer.Option(help="The column that says how many people a row stands for.")]
Git = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="A folder in a git repository, in place of TARGET: a release for each commit that changed --file.",
    ),
]
File = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The file of the repository, or the one to read in each folder of TARGET."),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The sheet of Excel files that have several; by default the one with the sensitive columns.",
    ),
]
Options = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        callback=_from_file,
        is_eager=True,
        help="Take options from a file that --save wrote; those given here go before.",
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write what was said and decided to this file, such as audit.toml."),
]


@dataclass(frozen=True)
class ReadingOptions:
    """How files are read."""

    keep: list[str]
    labels: list[str]
    missing: dict[str, list[str]]
    rename: dict[str, str]
    yes: bool
    counts: str | None
    git: Path | None
    file: str | None
    sheet: list[str]
    save: Path | None

    @classmethod
    def of(
        cls,
        keep: str | None,
        labels: str | None,
        missing: list[str] | None,
        rename: list[str] | None,
        yes: bool,
        counts: str | None,
        git: Path | None,
        file: str | None,
        sheet: str | None,
        save: Path | None,
    ) -> ReadingOptions:
        """From what the command line has."""
        from reissue.foreign.option_texts import names_of

        kept = [] if keep is None else names_of(keep)
        named = [] if labels is None else names_of(labels)
        sheets = [] if sheet is None else names_of(sheet)
        return cls(kept, named, _missing(missing or []), _renamed(rename or []), yes, counts, git, file, sheets, save)

    def check(self, target: list[Path], *, force: bool) -> list[Path]:
        """Refuse what does not go together; the files or folders to read."""
        from reissue.errors import ParameterError

        if target and self.git is not None:
            raise ParameterError("--git is in place of files and folders.", hint="leave TARGET out, or --git.")
        if not target and self.git is None:
            raise ParameterError(
                "What is to be audited?",
                hint="name the folder of a series, or releases made elsewhere: reissue audit --help",
            )
        if self.save is not None and self.save.exists() and not force:
            raise ParameterError(f"There is a file '{self.save}' already.", hint="name another file, or pass --force.")
        return target

    @property
    def called(self) -> str | None:
        """What a file in a repository is called."""
        return None if self.git is None else f"{self.file} in {self.git.resolve().name}"

    def saved(self, context: typer.Context, decisions: Mapping[str, Any], target: list[Path]) -> list[str]:
        """Write the file of options where one is wanted; what to note about such files."""
        if self.save is not None:
            _save(context, self.save, decisions)
            return [f"all options and decisions are in '{self.save}': --options {self.save} uses them"]
        if (used := context.params.get("options")) is not None:
            return [f"options that were not given are those of '{used}'"]
        beside = [path / "audit.toml" for path in target if (path / "audit.toml").is_file()]
        if beside:
            return [f"'{beside[0]}' lies there and was not used; --options {beside[0]} uses it"]
        return []

    def parameters(self) -> dict[str, Any]:
        """As parameters of `read_releases`."""
        return {
            "keep": self.keep,
            "labels": self.labels,
            "missing": self.missing,
            "rename": self.rename,
            "accept_proposals": self.yes,
            "counts": self.counts,
            "git": self.git,
            "file": self.file,
            "sheet": self.sheet,
        }


def _missing(texts: list[str]) -> dict[str, list[str]]:
    from reissue.foreign.option_texts import names_of, pair_of
    from reissue.foreign.spoken_columns import EVERY_COLUMN

    found: dict[str, list[str]] = {}
    for text in texts:
        column, words = pair_of(text) or (EVERY_COLUMN, text)
        found.setdefault(column, []).extend(names_of(words))
    return found


def _renamed(texts: list[str]) -> dict[str, str]:
    from reissue.errors import ParameterError
    from reissue.foreign.option_texts import names_of, pair_of

    found: dict[str, str] = {}
    for text in texts:
        pair = pair_of(text)
        new = names_of(pair[1]) if pair else []
        if pair is None or len(new) != 1:
            raise ParameterError(f"--rename takes OLD=NEW. Got '{text}' instead.", hint="--rename RESOLVED=Outcome1")
        if found.setdefault(pair[0], new[0]) != new[0]:
            raise ParameterError(f"--rename gives '{pair[0]}' two names.")
    return found


# The file of options


def _defaults(context: typer.Context, path: Path) -> dict[str, Any]:
    """What stands in a file, as the command line would have it."""
    from difflib import get_close_matches

    from reissue.errors import ParameterError
    from reissue.foreign.audit_file import read_options

    by_name = {_key(one): one for one in context.command.params if one.name not in NOT_KEPT}
    found, problems = {}, []
    for key, value in read_options(path).items():
        option = by_name.get(key)
        if option is None or option.name is None:
            near = get_close_matches(key, by_name, 1)
            problems.append(f"'{key}' is no option that can stand there{f'; {near[0]} is' if near else ''}")
            continue
        text = _as_given(key, value, option, path.parent)
        if text is None:
            problems.append(f"'{key}' is not what the option takes")
        else:
            found[option.name] = text
    if problems:
        raise ParameterError(f"'{path}' has options that are not understood.", problems=problems)
    return found


def _key(option: Any) -> str:
    name: str = max(option.opts, key=len)
    return name.lstrip("-")


def _as_given(key: str, value: object, option: Any, folder: Path) -> object:
    """A value of a file as the command line would have it; None where that cannot be."""
    from reissue.foreign.option_texts import names_text, pair_text
    from reissue.foreign.spoken_columns import EVERY_COLUMN

    several = bool(getattr(option, "multiple", True))
    if isinstance(value, Mapping):
        if not several:
            return None
        texts = []
        for column, one in value.items():
            words = [one] if isinstance(one, str) else one
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                return None
            if key == "missing":
                own = "" if column == EVERY_COLUMN else f"{names_text([column])}="
                texts.append(f"{own}{names_text(words)}")
            elif len(words) != 1:
                return None
            else:
                new = str(folder / words[0]) if key in FILES else words[0]
                texts.append(f"{column}={new}" if key in FILES else pair_text(column, new))
        return texts
    if isinstance(value, list):
        if not all(isinstance(word, str | int | float) for word in value):
            return None
        return [str(word) for word in value] if several else names_text(map(str, value))
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        return None
    if key in FILES and (folder / value).exists():
        value = str(folder / value)
    return [value] if several else value


def _save(context: typer.Context, path: Path, decisions: Mapping[str, Any]) -> None:
    """Write all options that were given, and what was decided about columns."""
    from reissue.foreign.audit_file import write_options

    here = path.resolve().parent
    kept: dict[str, Any] = {}
    for option in context.command.params:
        if option.name is None or option.name in NOT_KEPT or option.name in decisions:
            continue
        source = context.get_parameter_source(option.name)
        if source is None or source.name not in ("COMMANDLINE", "DEFAULT_MAP"):
            continue
        kept[_key(option)] = _plain(option.name, context.params[option.name], here)
    decided = {name: _relative(str(value), here) if name in FILES else value for name, value in decisions.items()}
    # Columns that were kept are quasi-identifiers by name now.
    kept.pop("keep", None)
    write_options(path, {**decided, **kept}, replace=bool(context.params.get("force")))


def _plain(name: str, value: Any, here: Path) -> Any:
    if name == "hierarchy":
        pairs = [text.partition("=") for text in value]
        return {column: _relative(file, here) for column, _, file in pairs}
    if isinstance(value, Path):
        return _relative(str(value), here)
    if isinstance(value, tuple | list):
        return [str(one) for one in value]
    if name in FILES and isinstance(value, str) and Path(value).exists():
        return _relative(value, here)
    return value


def _relative(file: str, here: Path) -> str:
    return os.path.relpath(Path(file).resolve(), here)
