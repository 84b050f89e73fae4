"""`--change` and `--follows` of `reissue audit`: how values may change, as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reissue.model.value_change import ValueChange

EXAMPLES = "--change people=5, --change rate=0.02 or --change free"


def value_change_of(change: Sequence[str], follows: Sequence[str]) -> ValueChange | None:
    """What was said of change, values as text; None: nothing was said."""
    from reissue.errors import ParameterError
    from reissue.model.value_change import ValueChange

    if not change and not follows:
        return None
    given: dict[str, int | float] = {}
    problems = []
    for one in (part.strip() for text in change for part in text.split(",")):
        name, between, number = (part.strip() for part in one.partition("="))
        if one == "free":
            continue
        if name not in ("people", "rate") or not between or name in given:
            problems.append(f"--change says how many people change at most, or how often. Got '{one}' instead.")
            continue
        try:
            given[name] = int(number) if name == "people" else float(number)
        except ValueError:
            problems.append(f"--change {name}= takes a number. Got '{number}' instead.")
    if problems:
        raise ParameterError("--change cannot be understood.", problems=problems, hint=f"say {EXAMPLES}.")
    if "free" in [part.strip() for text in change for part in text.split(",")] and (given or follows):
        raise ParameterError("--change free says that nothing else is known of change.", hint="leave one of them out.")
    return ValueChange(**given, follows=_follows(follows) if follows else None)  # type: ignore[arg-type]


def as_shown(change: ValueChange | None, values: Sequence[object]) -> ValueChange | None:
    """The same with values as the releases have them; one that no release shows is a mistake."""
    from dataclasses import replace

    from reissue.errors import ParameterError, count_of

    if change is None or change.follows is None:
        return change
    if unknown := change.unshown({str(value) for value in values}):
        raise ParameterError(
            f"--follows names {count_of(unknown, 'value')} that no release shows.",
            hint="spell values as they are published.",
        )
    by_text = {str(value): value for value in values}
    follows = {by_text[value]: [by_text[one] for one in after] for value, after in change.follows.items()}
    return replace(change, follows=follows)


def _follows(texts: Sequence[str]) -> dict[str, list[str]]:
    """For each value those that may follow it."""
    from reissue.errors import ParameterError

    found: dict[str, list[str]] = {}
    wrong = 0
    for text in texts:
        value, between, after = (part.strip() for part in text.partition("="))
        if not between and Path(text).suffix.lower() in (".csv", ".parquet", ".xlsx"):
            for one, later in _pairs(Path(text)):
                found.setdefault(one, []).extend([later] if later else [])
            continue
        wrong += not (value and between)
        found.setdefault(value, []).extend(one.strip() for one in after.split(",") if one.strip())
    if wrong:
        raise ParameterError(
            "--follows takes a value and those that may follow it.",
            hint='say --follows "Active=Resolved,Fatal", and --follows "Fatal=" for a value that is never left; or '
            "name a table with the columns value and follows.",
        )
    return found


def _pairs(path: Path) -> list[tuple[str, str | None]]:
    """Values and what may follow them, from a table."""
    import polars as pl

    from reissue.errors import TableError
    from reissue.tables.frames import read_table

    frame, _ = read_table(path, text=("value", "follows"))
    if not {"value", "follows"} <= {*frame.columns} or frame["value"].null_count():
        raise TableError(
            f"'{path.name}' must have the columns 'value' and 'follows', with a value in every line.",
            hint="a line for each pair; an empty cell under 'follows' for a value that is never left.",
        )
    pairs = frame.select(pl.col("value").cast(pl.String), pl.col("follows").cast(pl.String))
    return [(value, after) for value, after in pairs.iter_rows()]
