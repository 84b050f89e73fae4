"""Which release a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
