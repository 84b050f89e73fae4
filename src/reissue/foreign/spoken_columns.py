"""What somebody says about the columns of releases, before and after it is known how the files call them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reissue.errors import ParameterError, listed
from reissue.foreign.foreign_tables import ColumnRoles
from reissue.foreign.headers import Matched

EVERY_COLUMN = "*"
"""In place of a column: all of them."""
ROLES = "two of sensitive, quasi, person, group, counts and drop"


@dataclass(frozen=True)
class ToldColumns:
    """What was said about columns."""

    sensitive: tuple[str, ...]
    quasi: tuple[str, ...] | None
    drop: tuple[str, ...]
    keep: tuple[str, ...]
    labels: tuple[str, ...]
    missing: frozenset[str]
    missing_in: Mapping[str, frozenset[str]]
    group: str | None
    person: str | None
    counts: str | None
    left: tuple[str, ...] = ()
    """What was left out because it was questioned."""
    plain_group: bool = False
    """Whether a column called `group` is one like others."""
    mistakable: tuple[str, ...] = ()
    """What was left out at once, as it would be mistaken for a column beside it."""

    @classmethod
    def of(
        cls,
        sensitive: str | Sequence[str],
        quasi: Collection[str] | None,
        drop: Collection[str],
        keep: Collection[str],
        labels: Collection[str],
        missing: Collection[str] | Mapping[str, Collection[str]],
        group: str | None,
        person: str | None,
        counts: str | None,
    ) -> ToldColumns:
        """From the parameters of `read_releases`."""
        lists = {"quasi": quasi, "drop": drop, "keep": keep, "labels": labels, "missing": missing}
        problems = [
            f"The '{name}' parameter of read_releases must be a list of {'texts' if name == 'missing' else 'columns'}. "
            "Got text instead."
            for name, value in lists.items()
            if isinstance(value, str)
        ]
        if isinstance(missing, Mapping):
            problems += [
                "The 'missing' parameter of read_releases must have a list of texts for each column. Got text instead."
                for texts in missing.values()
                if isinstance(texts, str)
            ][:1]
        columns = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
        if not columns:
            problems.append("The 'sensitive' parameter of read_releases must name at least one column.")
        if problems:
            raise ParameterError("The releases cannot be read like this.", problems=problems)
        by_column = missing if isinstance(missing, Mapping) else {EVERY_COLUMN: missing}
        lowered = {name: frozenset(text.strip().lower() for text in texts) for name, texts in by_column.items()}
        return cls(
            sensitive=columns,
            quasi=None if quasi is None else tuple(quasi),
            drop=tuple(drop),
            keep=tuple(keep),
            labels=tuple(labels),
            missing=lowered.pop(EVERY_COLUMN, frozenset()),
            missing_in=lowered,
            group=group,
            person=person,
            counts=counts,
        )

    def check(
        self, registry: object | None, present: object | None, git: object | None, releases: object | None
    ) -> None:
        """Refuse what contradicts itself."""
        problems = []
        columns = [column for column in (self.person, self.group, self.counts) if column is not None]
        columns += [*self.sensitive, *(self.quasi or ()), *self.drop]
        twice = sorted({column for column in columns if columns.count(column) > 1})
        if twice:
            problems.append(f"{listed(twice)} cannot be {ROLES}.")
        if both := sorted({*self.keep} & {*self.drop, *self.sensitive}):
            problems.append(f"{listed(both)} cannot be kept as a quasi-identifier and be something else.")
        if registry is not None and self.person is None:
            problems.append("A registry needs the 'person' parameter: the column with the names of people.")
        if present is not None and registry is None:
            problems.append("The 'present' parameter of read_releases needs a registry.")
        if isinstance(present, str) and present != "all" and not Path(present).exists():
            problems.append("The 'present' parameter of read_releases must be 'all', a table or a file that exists.")
        if (git is None) == (releases is None):
            problems.append("Releases are files or tables, or with 'git' the states of a file: one of them, not both.")
        if problems:
            raise ParameterError("The releases cannot be read like this.", problems=problems)

    @property
    def columns(self) -> list[str]:
        """Every column that was spoken of."""
        single = [name for name in (self.group, self.person, self.counts) if name is not None]
        several = (self.sensitive, self.quasi or (), self.drop, self.keep, self.labels, tuple(self.missing_in))
        return [*single, *(name for names in several for name in names)]

    def spelt(self, matched: Matched) -> ToldColumns:
        """The same, with columns called as the files do."""

        def one(name: str | None) -> str | None:
            return None if name is None else matched.spelt(name)

        def every(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(map(matched.spelt, names)))

        return replace(
            self,
            sensitive=every(self.sensitive),
            quasi=None if self.quasi is None else every(self.quasi),
            drop=every(self.drop),
            keep=every(self.keep),
            labels=every(self.labels),
            missing_in={matched.spelt(name): texts for name, texts in self.missing_in.items()},
            group=one(self.group),
            person=one(self.person),
            counts=one(self.counts),
        )

    def roles(self) -> ColumnRoles:
        """What the columns are."""
        return ColumnRoles(
            self.sensitive,
            self.quasi,
            self.person,
            self.group,
            frozenset({*self.drop, *self.left}),
            self.counts,
            self.missing,
            self.missing_in,
            self.plain_group,
        )

    def unknown(self, name: str) -> frozenset[str]:
        """What means a missing value in a column, in small letters."""
        return self.roles().unknown(name)

    def with_missing(self, guessed: Mapping[str, Iterable[str]]) -> ToldColumns:
        """With texts that were taken to mean a missing value."""
        more = {name: self.missing_in.get(name, frozenset()) | {*texts} for name, texts in guessed.items() if texts}
        return replace(self, missing_in={**self.missing_in, **more})

    def decisions(
        self,
        names: Sequence[str],
        rename: Mapping[str, str],
        git: str | Path | None,
        file: str | None,
        sheets: Sequence[str],
    ) -> dict[str, Any]:
        """What was said and decided, as parameters."""
        missing = {name: sorted(texts) for name, texts in self.missing_in.items()}
        if self.missing:
            missing[EVERY_COLUMN] = sorted(self.missing)
        found = {
            "sensitive": list(self.sensitive),
            "quasi": list(names),
            "drop": [*self.drop, *self.mistakable],
            "labels": list(self.labels),
            "missing": missing,
            "rename": dict(rename),
            "group": self.group,
            "person": self.person,
            "counts": self.counts,
            "git": None if git is None else str(git),
            "file": file,
            "sheet": list(sheets),
        }
        return {name: value for name, value in found.items() if value}
