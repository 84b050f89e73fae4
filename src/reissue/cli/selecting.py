"""Which release a command is about, and of which copy of its series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reissue.cli.output import note
from reissue.errors import ParameterError

if TYPE_CHECKING:
    from reissue.model.release import Release
    from reissue.publishing.series import Series


def chosen(series: Series, number: int | None) -> Release:
    """The release of this number, or the last one."""
    if number is not None:
        return series.release(number)
    releases = series.releases
    if not releases:
        raise ParameterError("The series has no release yet.", hint="reissue publish <series> <table>")
    return releases[-1]


def note_unless_continued(series: Path) -> None:
    """Say on standard error that what is read is a copy of a series which does not go on: an older or restored one."""
    from reissue.publishing.custody import not_continued

    if why := not_continued(series):
        note(f"{why} This is the series as this folder has it.")
