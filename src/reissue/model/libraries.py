"""The libraries that tables come back in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from reissue.errors import MissingExtra, ParameterError, listed

if TYPE_CHECKING:
    import polars as pl

Library = Literal["polars", "pandas", "pyarrow", "duckdb"]


def check_library(frames: object, of: str) -> None:
    """Refuse a library that tables cannot come back in; `of` is who asks."""
    if frames not in get_args(Library):
        raise ParameterError(
            f"The 'frames' parameter of {of} must be one of {listed(get_args(Library))}. Got {frames!r} instead."
        )


def to_library(frame: pl.DataFrame, library: Library) -> Any:
    """The frame in the caller's own library."""
    try:
        if library == "pandas":
            return frame.to_pandas()
        if library == "pyarrow":
            return frame.to_arrow()
        if library == "duckdb":
            import duckdb

            return duckdb.from_arrow(frame.to_arrow())
    except ImportError as error:
        raise MissingExtra(
            f"Tables for {library} need the package '{error.name}'.",
            hint="install reissue with its extras pandas and duckdb (from a clone: pip install '.[pandas,duckdb]').",
        ) from error
    return frame
