"""Write docs/reference/command-line.md from the commands themselves.

.venv/bin/python docs/generate_cli_reference.py
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from reissue_studies.command import study
from typer import Context
from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

from reissue.cli import app

PAGE = Path(__file__).parent / "reference" / "command-line.md"

INTRODUCTION = """\
# Command line

<!-- Written by docs/generate_cli_reference.py from the commands themselves; do not edit. -->

    reissue [--version] [--help] COMMAND ...

Every command has `--help`. Every command that prints tables prints JSON with `--json`, alone on standard output;
an error is then JSON too.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | refused: the input is sound, but must not be published like this |
| 2 | wrong usage, a table or policy that does not fit, a folder that is full or locked |
| 3 | the series is [damaged](../how-to/damage.md): its files and its record disagree |
| 130 | stopped by Ctrl-C |

Messages name columns, parameters and counts. They quote values of the private table only with `--show-values`.
Control characters, line breaks and marks of direction in names and labels are shown escaped (`\\x1b`). What people
should know although nothing went wrong is a line on standard error that begins with `note`.
"""


def page() -> str:
    """The whole page."""
    commands = [_real(command.callback) for command in app.registered_commands if command.callback is not None]
    overview = [f"| [`reissue {_name(c)}`](#reissue-{_name(c)}) | {_summary(c)} |" for c in commands]
    parts = [INTRODUCTION, "\n".join(["| command | what it does |", "|---|---|", *overview]) + "\n"]
    return "\n".join([*parts, *map(_section, commands)])


def _real(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command itself: `reissue study` hands over to that of the studies."""
    return study if command.__name__ == study.__name__ else command


def _name(command: Callable[..., Any]) -> str:
    """A command as it is typed."""
    return command.__name__.replace("_", "-")


def _section(command: Callable[..., Any]) -> str:
    parameters = list(_parameters(command))
    arguments = [entry for entry in parameters if isinstance(entry[1], ArgumentInfo)]
    options = [entry for entry in parameters if isinstance(entry[1], OptionInfo)]
    words = [info.metavar if required else f"[{info.metavar}]" for _, info, _, required, _ in arguments]
    text, examples = _divided(command)
    lines = [f"## reissue {_name(command)}", "", text, ""]
    lines += [f"    reissue {_name(command)} {' '.join(['[OPTIONS]', *map(str, words)])}", ""]
    if arguments:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| `{info.metavar}` | {_cell(info.help)} |" for _, info, *_ in arguments] + [""]
    lines += ["| option | value | by default | meaning |", "|---|---|---|---|"]
    for name, info, kind, required, default in options:
        shown = "required" if required else _default(default)
        lines.append(f"| `{_flag(name, info)}` | {_value(kind, info)} | {shown} | {_cell(info.help)} |")
    if examples:
        lines += ["", "```sh", *examples, "```"]
    return "\n".join([*lines, ""])


Entry = tuple[str, ParameterInfo, Any, bool, Any]


def _parameters(command: Callable[..., Any]) -> Iterator[Entry]:
    """Name, description, type, whether it is required, and default of each parameter."""
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        if hints[name] is Context:
            continue  # what Typer hands over of itself
        kind, *extras = get_args(hints[name])
        (info,) = (extra for extra in extras if isinstance(extra, ParameterInfo))
        required = parameter.default is inspect.Parameter.empty
        yield name, info, kind, required, parameter.default


def _divided(command: Callable[..., Any]) -> tuple[str, list[str]]:
    """What the docstring says, and the examples at its end."""
    text = inspect.getdoc(command) or ""
    for heading in ("Examples:", "Example:"):
        text, found, examples = text.partition(f"\n\n{heading}\n")
        if found:
            return text, [line.strip() for line in examples.splitlines() if line.strip()]
    return text, []


def _summary(command: Callable[..., Any]) -> str:
    return _divided(command)[0].partition("\n\n")[0].replace("\n", " ")


def _flag(name: str, info: ParameterInfo) -> str:
    # Beside an annotation, Typer keeps the first name that was given in the place of the default.
    given = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
    return next((text for text in given if text.startswith("--")), f"--{name.replace('_', '-')}")


def _value(kind: Any, info: ParameterInfo) -> str:
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    if kind is bool:
        return "-"
    if get_origin(kind) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(kind))
    many = get_origin(kind) is list
    if many:
        (kind,) = get_args(kind)
    word = {int: "whole number", float: "number", str: "text", Path: "path"}[kind]
    word += ", may be given several times" if many else ""
    limits = [f"at least {info.min:g}"] if info.min is not None else []
    limits += [f"at most {info.max:g}"] if info.max is not None else []
    return ", ".join([word, *limits])


def _default(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else "-"
    return f"`{value}`"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
