"""What `reissue utility --given` shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reissue.cli.output import note, print_json, print_table, say, stages

if TYPE_CHECKING:
    from reissue.model.schema import Schema
    from reissue.publishing.given_choices import GivenChoice, GivenChoices, Guesses

FEWER = 5
"""Counts are also asked for so many times fewer people."""


@dataclass(frozen=True)
class Asked:
    """What the options say."""

    choice: list[str] | None
    model: Path | None
    sample: int | None
    seconds: float | None
    seed: int | None
    counts: tuple[int, int | None, float]
    """How many queries, of how many quasi-identifiers, for what share of rows."""

    def parameters(self, schema: Schema) -> dict[str, Any]:
        """The same for the library, which has its own way with what is left out."""
        from reissue.errors import ParameterError
        from reissue.utility import Workload

        queries, dimensions, selectivity = self.counts
        if not queries:
            raise ParameterError("--given compares the error of counts: ask at least one with --queries.")
        wanted = dimensions or min(2, len(schema.quasi))
        shares = (selectivity, selectivity / FEWER)
        said = {"model": self.model, "sample": self.sample, "seconds": self.seconds, "seed": self.seed}
        return {
            "choices": None if self.choice is None else [_columns(one) for one in self.choice],
            "workloads": [Workload(wanted, share, count=queries, seed=self.seed) for share in shares],
            **{name: value for name, value in said.items() if value is not None},
        }


def _columns(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def compare_given(
    series: Path | None, number: int | None, table: Path | None, policy: Path | None, asked: Asked, *, as_json: bool
) -> None:
    """Measure the choices of a series or a table, and print what was found."""
    from reissue.cli.selecting import chosen, note_unless_continued
    from reissue.errors import ParameterError
    from reissue.publishing.measuring_given import given_choices
    from reissue.publishing.policy import Policy
    from reissue.publishing.series import open as open_series

    if (series is None) == (table is None) or (table is None) != (policy is None):
        raise ParameterError(
            "--given needs a series, or a table and its policy.",
            hint="reissue utility <series> --given, or reissue utility --given --table <file> --policy <file>.",
        )
    with stages(None) as progress:
        if table is not None and policy is not None:
            read = Policy.read(policy)
            found = given_choices(table, read, progress=progress, **asked.parameters(read.schema))
        elif series is not None:
            with open_series(series) as opened:
                note_unless_continued(series)
                release = chosen(opened, number)
                parameters = asked.parameters(opened.policy.schema)
                found = opened.given_choices(release.number, progress=progress, **parameters)
    if as_json:
        print_json(found.to_dict())
        return
    _print(found)


def _print(found: GivenChoices) -> None:
    outside = any(one.elsewhere is not None for one in found.choices)
    measured = [one for one in found.choices if one.learnt is not None]
    titles = ["given", "cells", "right", "without", "advantage"]
    titles += ["model: right", "advantage"] if outside else []
    titles += ["openly", *(f"error {at:g}" for at in found.selectivities), "wider", "rare", "in small cells"]
    if measured:
        print_table(
            f"Choices of 'given', on {found.sample:,} of {found.people:,} people",
            titles,
            [_row(one, outside=outside) for one in measured],
        )
        say(
            "right: top guesses by a model learnt from the release; without: the same without the own row;",
            "openly: by the slots alone; error: of counts, median; wider: standard error of shares, times the plain "
            "table's; rare: people with a value published as one with others.",
        )
    for one in found.choices:
        if one.why_not is not None:
            say(one.why_not, heading=f"{_name(one)}: ")
    for text in found.notes:
        note(text)
    say(found.sentence)


def _row(choice: GivenChoice, *, outside: bool) -> list[object]:
    return [
        _name(choice),
        choice.cells.count,
        *_guesses(choice.learnt),
        *([one for at, one in enumerate(_guesses(choice.elsewhere)) if at != 1] if outside else []),
        _percent(choice.openly),
        *map(_percent, choice.errors),
        choice.wider,
        choice.others,
        choice.cells.thin,
    ]


def _guesses(made: Guesses | None) -> list[str | None]:
    """How many are right, how many without the own row, and the advantage in points with half its interval."""
    if made is None:
        return [None, None, None]
    half = (made.advantage_high - made.advantage_low) / 2
    return [_percent(made.right), _percent(made.without), f"{100 * made.advantage:.1f} ± {100 * half:.1f}"]


def _name(choice: GivenChoice) -> str:
    from reissue.publishing.given_choices import named

    return named(choice.given)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"
