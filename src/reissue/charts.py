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


def over_releases(data: pl.DataFrame, panels: dict[str, str], *, title: str) -> Chart:
    """Bars over the releases, one panel below the other for each column named in `panels`.

    `data` has a column `release`; `panels` gives the title of each panel.
    """
    altair = load_altair()
    base = altair.Chart(altair.Data(values=data.to_dicts())).mark_bar(size=32, color="#35618f")
    rows = [
        base.encode(
            x=altair.X("release:O", title="release", axis=altair.Axis(labelAngle=0)),
            y=altair.Y(f"{column}:Q", title=None),
            tooltip=[altair.Tooltip(f"{name}:Q") for name in data.columns],
        ).properties(
            width=460, height=150, title=altair.TitleParams(panel, anchor="start", fontSize=12, fontWeight="normal")
        )
        for column, panel in panels.items()
    ]
    heading = altair.TitleParams(title, anchor="start", fontSize=15, offset=14)
    return Chart(data, altair.vconcat(*rows).properties(title=heading))
