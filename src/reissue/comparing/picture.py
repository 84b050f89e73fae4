"""The picture of a comparison: a bar for every method in each of a few panels. No other library is needed for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from reissue.errors import MissingExtra, ParameterError, printable

BLUE, GREEN, GREY, RED = "#35618f", "#2f7d4f", "#8a8f98", "#b4432f"
LINE, BAR, TOP = 22, 13, 62
NAMES, PANEL, GAP = 240, 170, 22
FONT = "font-family='system-ui, sans-serif'"
SUFFIXES = (".html", ".svg", ".png")


@dataclass(frozen=True)
class Panel:
    """One figure of all methods."""

    title: str
    below: str
    figures: Sequence[float | None]
    """One for each method, as a share; None where there is none."""
    beside: float | None = None
    """Where a dashed line is drawn: the figure with no link at all."""


@dataclass(frozen=True, repr=False)
class Drawing:
    """Bars, as SVG."""

    svg: str

    def save(self, path: str, **options: Any) -> None:
        """Write the picture to a file: .html and .svg need nothing, .png the extra charts."""
        suffix = Path(path).suffix
        if suffix == ".svg":
            Path(path).write_text(self.svg, encoding="utf-8")
        elif suffix == ".html":
            page = (
                f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Methods compared</title>{self.svg}</html>"
            )
            Path(path).write_text(page, encoding="utf-8")
        elif suffix == ".png":
            Path(path).write_bytes(_png(self.svg))
        else:
            raise ParameterError(f"A picture is saved as {', '.join(SUFFIXES)}. Got '{suffix or path}' instead.")

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": "a picture of methods compared"}


def _png(svg: str) -> bytes:
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtra(
            "A picture as .png needs the package 'vl-convert-python'.",
            hint="save it as .svg or .html, or install reissue with its extra charts.",
        ) from error
    return bytes(vl_convert.svg_to_png(svg, scale=2))


def drawn(title: str, names: Sequence[str], panels: Sequence[Panel], colours: Mapping[str, str]) -> Drawing:
    """One line for each name, one column of bars for each panel; `colours` by name."""
    width, height = NAMES + len(panels) * (PANEL + GAP), TOP + LINE * len(names) + 16
    size = f"viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} {FONT}>",
        f"<rect width='{width}' height='{height}' fill='white'/>",
        _text(8, 20, title, size=15, weight="bold"),
    ]
    for at, name in enumerate(names):
        parts.append(_text(NAMES - 8, _line(at) + BAR - 2, _short(name), size=12, anchor="end"))
    for place, panel in enumerate(panels):
        parts += _panel(NAMES + place * (PANEL + GAP), panel, names, colours)
    return Drawing("\n".join([*parts, "</svg>"]))


def _panel(left: int, panel: Panel, names: Sequence[str], colours: Mapping[str, str]) -> list[str]:
    known = [figure for figure in (*panel.figures, panel.beside) if figure is not None]
    most = max([*known, 1e-9])
    room = PANEL - 48  # for the figure beside the longest bar
    parts = [_text(left, 40, panel.title, size=12, weight="bold"), _text(left, 54, panel.below, size=10, colour=GREY)]
    for at, (name, figure) in enumerate(zip(names, panel.figures, strict=True)):
        if figure is None:
            parts.append(_text(left, _line(at) + BAR - 2, "-", size=11, colour=GREY))
            continue
        wide = max(room * max(figure, 0.0) / most, 1.0)
        fill = colours.get(name, BLUE)
        parts.append(f"<rect x='{left}' y='{_line(at)}' width='{wide:.1f}' height='{BAR}' fill='{fill}'/>")
        parts.append(_text(left + wide + 4, _line(at) + BAR - 2, f"{100 * figure:.1f} %", size=11))
    if panel.beside is not None:
        x = left + room * panel.beside / most
        end = TOP + LINE * len(names)
        parts.append(
            f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{TOP - 4}' y2='{end}' stroke='{RED}' stroke-dasharray='4 3'/>"
        )
    return parts


def _line(at: int) -> int:
    return TOP + LINE * at


def _short(name: str) -> str:
    return name if len(name) <= 36 else f"{name[:35]}…"


def _text(
    x: float, y: float, text: str, *, size: int, colour: str = "#222", weight: str = "normal", anchor: str = "start"
) -> str:
    style = f"font-size='{size}' fill='{colour}' font-weight='{weight}' text-anchor='{anchor}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(printable(text))}</text>"
