"""What a failure says: whether the change has happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reissue.errors import ReissueError, SeriesDamaged, listed
from reissue.ledger.layout import Layout


@contextmanager
def saying(outcome: str, *, unless: str | None = None) -> Iterator[None]:
    """Let errors of ours in the block begin with the outcome, unless they say it already, or that it is another."""
    try:
        yield
    except ReissueError as error:
        if outcome not in error.what and (unless is None or unless not in error.what):
            error.what = f"{outcome}. {error.what}"
            error.args = (error.what,)
        raise


def refuse_missing(layout: Layout, files: Sequence[Path]) -> None:
    """Raise SeriesDamaged if files are gone that a change refers to."""
    missing = [layout.relative(path) for path in files if not path.is_file()]
    if missing:
        raise SeriesDamaged(
            f"{listed(missing)} disappeared before the change was final.",
            hint="find out who removes files of the series, then try again.",
        )
