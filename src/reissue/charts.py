"""Charts: objects with several exits, the data, an HTML file that works offline, a picture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import MissingExtra


@dataclass(frozen=True, repr=False)
class Chart:
    """A drawing and the numbers behind it."""

    data: pl.DataFrame
    """The numbers behind the drawing."""
    drawing: Any
    """The altair chart."""

    def __repr__(self) -> str:
        return f"Chart({self.data.height} rows: {', '.join(self.data.columns)})"

    def save(self, path: str | Path) -> Path:
        """Write the chart to a file: .html (works offline), .png or .svg."""
        path = Path(path)
        self.drawing.save(str(path), **({"inline": True} if path.suffix == ".html" else {}))
        return path

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        return self.drawing._repr_mimebundle_(*arguments, **options)


def load_altair() -> Any:
    """Altair, where it is installed."""
    try:
        with _somewhere_at_home():
            import altair
    except ImportError as error:
        raise MissingExtra(
            "Charts need the package 'altair'.",
            hint="install reissue with its extra charts (from a clone: pip install '.[charts]'), or go on without.",
        ) from error
    return altair


@contextmanager
def _somewhere_at_home() -> Iterator[None]:
    """Altair asks for the home folder when it is loaded and fails where there is none, though it puts nothing there."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = os.devnull
        try:
            yield
        finally:
            del os.environ["HOME"]
        return
    yield
