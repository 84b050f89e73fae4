"""Pictures: shapes at their places, which the template `pictures.html` writes as SVG inside a page.

A shape has no colour of its own but a kind, and the style of the page says how that looks, on a screen and in grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal
from unicodedata import east_asian_width

from reissue.errors import printable

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Words:
    """A line of text, its base at (x, y)."""

    shape: ClassVar[str] = "words"
    x: float
    y: float
    text: str
    kind: str = "plain"
    anchor: Anchor = "start"
    whole: str | None = None
    """The text in full, where it was cut."""


@dataclass(frozen=True)
class Block:
    """A rectangle with round corners."""

    shape: ClassVar[str] = "block"
    x: float
    y: float
    width: float
    height: float
    kind: str = "plain"
    radius: float = 0.0


@dataclass(frozen=True)
class Stroke:
    """A line through points."""

    shape: ClassVar[str] = "stroke"
    points: tuple[tuple[float, float], ...]
    kind: str = "plain"

    @property
    def path(self) -> str:
        """The points as SVG has them."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.points)


@dataclass(frozen=True)
class Dot:
    """A mark at a point: `round`, `square`, `diamond` or `ring`."""

    shape: ClassVar[str] = "dot"
    x: float
    y: float
    size: float = 3.5
    kind: str = "plain"
    form: str = "round"

    @property
    def corners(self) -> str:
        """The corners of a mark that has some."""
        s = self.size
        square = ((-s, -s), (s, -s), (s, s), (-s, s))
        diamond = ((0, -1.3 * s), (1.3 * s, 0), (0, 1.3 * s), (-1.3 * s, 0))
        return " ".join(f"{self.x + x:.1f},{self.y + y:.1f}" for x, y in (square if self.form == "square" else diamond))


Shape = Words | Block | Stroke | Dot


@dataclass(frozen=True)
class Picture:
    """Shapes with a title and a description, for those who cannot see them."""

    title: str
    description: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


BOLD = 1.12
"""How much wider bold letters are: a size is multiplied by it."""


def breadth(text: str, size: float) -> float:
    """About how wide a text is on a page, rather too wide than too narrow: a browser chooses the letters."""
    return size * sum(map(_wide, printable(text)))


def _wide(char: str) -> float:
    if east_asian_width(char) in "WF":
        return 1.05
    if char in "ijl.,:;'|! ":
        return 0.35
    if char in "ftr()[]/-":
        return 0.44
    return 0.98 if char in "mwMW@%—" else 0.72 if char.isupper() else 0.84 if not char.isascii() else 0.63


def cut(text: str, size: float, room: float) -> str:
    """A text as a page shows it; one that has no room, with dots at its end."""
    text = printable(text)
    if breadth(text, size) <= room:
        return text
    left, kept = room - breadth("…", size), 0
    for char in text:
        left -= size * _wide(char)
        if left < 0:
            break
        kept += 1
    return f"{text[:kept].rstrip()}…"


def fitted(x: float, y: float, text: str, size: float, room: float, kind: str, anchor: Anchor = "start") -> Words:
    """A text, cut to its room; the whole of it is kept beside."""
    text = printable(text)
    shown = cut(text, size, room)
    return Words(x, y, shown, kind, anchor, None if shown == text else text)


def broken(text: str, size: float, room: float, most: int = 3) -> list[str]:
    """A text as lines that have room; what is more than `most` lines is cut."""
    lines: list[str] = []
    words = printable(text).split()
    line = ""
    while words and len(lines) < most:
        longer = f"{line} {words[0]}".strip()
        if breadth(longer, size) <= room or not line:
            line = longer
            words.pop(0)
        else:
            lines.append(line)
            line = ""
    if line and len(lines) < most:
        lines.append(line)
        line = ""
    if words or line:
        lines[-1] = cut(f"{lines[-1]} {line} {' '.join(words)}", size, room)
    return [cut(one, size, room) for one in lines]


def ticks(top: float, most: int = 5, whole: bool = False) -> Sequence[float]:
    """Round numbers from 0 to at least `top`."""
    step = 1.0
    while step * most < top:
        step *= 10
    while not (whole and step <= 1) and step / 10 * most >= top:
        step /= 10
    for factor in (0.2, 0.25, 0.5):
        finer = step * factor
        if finer * most >= top and not (whole and finer != int(finer)):
            step = finer
            break
    places = [0.0]
    while places[-1] < top - 1e-9:
        places.append(round(places[-1] + step, 12))
    return places
