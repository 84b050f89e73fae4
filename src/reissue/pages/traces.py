"""A picture of a derivation: somebody's way through the releases, what each shows them among, and what that leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reissue.pages.pictures import BOLD, Block, Dot, Picture, Shape, Stroke, Words, breadth, broken, fitted

State = Literal["left", "doubted", "out", "open"]
"""`left`: it stays possible, or is what follows; `doubted`: it would be, if something holds that is in doubt; `out`: it
is ruled out; `open`: nothing is said about it."""

MARGIN, RAIL, INDENT = 4.0, 12.0, 28.0
TEXT, SMALL = 11.5, 10.0
CHIP, GAP = 19.0, 5.0
"""Sizes in units of the picture, which are pixels where it has room."""
WIDTH, BELOW = 270.0, 2
"""How wide a picture is, and how many lines there are below a group."""


@dataclass(frozen=True)
class Chip:
    """A value that a group shows."""

    text: str
    times: int = 1
    """How often it is shown."""
    state: State = "open"


@dataclass(frozen=True)
class Stop:
    """A group that somebody is in."""

    heading: str
    """Such as `release 2, group 10`."""
    chips: tuple[Chip, ...]
    below: str = ""
    """What else is told of it, such as the lines of its file."""
    more: int = 0
    """How many values it shows beside those that have a chip."""
    through: bool = True
    """Whether the person is known to be in it; else they may be, or it is only compared with."""


def has_room(below: str) -> bool:
    """Whether what is told of a group has room below it, no line cut."""
    return len(broken(below, SMALL, WIDTH - INDENT - MARGIN, BELOW + 1)) <= BELOW


def trace(
    title: str, description: str, stops: Sequence[Stop], outcome: str, *, sure: bool = True, width: float = WIDTH
) -> Picture | None:
    """The way through the stops, from the first to the last, and what follows; None where there is no stop.

    What is not `sure` is drawn with dashes.
    """
    if not stops:
        return None
    shapes: list[Shape] = []
    y, dots = MARGIN, []
    room = width - INDENT - MARGIN
    for stop in stops:
        top = y
        y += 15
        dots.append((RAIL, y - 4, stop.through))
        shapes.append(fitted(INDENT, y, stop.heading, TEXT * BOLD, room, "strong"))
        y += 6
        y = _chips(shapes, stop, y, room)
        if stop.below:
            for line in broken(stop.below, SMALL, room, BELOW):
                y += 11
                shapes.append(Words(INDENT, y, line, "soft", "start", stop.below))
            y += 3
        shapes.insert(0, Block(INDENT - 7, top, width - INDENT + 7 - MARGIN / 2, y - top + 3, "group", 5))
        y += 13
    first = next((place for place in dots if place[2]), dots[0])
    shapes.append(Stroke(((RAIL, first[1]), (RAIL, y + 8)), "way" if sure else "way doubted"))
    shapes += [
        Dot(x, at, 4.0, "stop" if through else "aside", "round" if through else "ring") for x, at, through in dots
    ]
    shapes.append(Dot(RAIL, y + 8, 5.0, "end" if sure else "end doubted", "diamond"))
    for line in broken(outcome, TEXT * BOLD, room, 3):
        y += 12
        shapes.append(Words(INDENT, y, line, "outcome" if sure else "outcome doubted"))
        y += 3
    return Picture(title, description, width, y + MARGIN + 2, tuple(shapes))


def _chips(shapes: list[Shape], stop: Stop, y: float, room: float) -> float:
    """Put the chips of a stop below each other in as few rows as they need; return where the last row ends."""
    x = INDENT
    chips = [(chip, chip.text if chip.times == 1 else f"{chip.text} ×{chip.times:,}") for chip in stop.chips]
    if stop.more:
        chips.append((Chip("", state="open"), f"and {stop.more:,} more"))
    for chip, text in chips:
        size = TEXT * BOLD if chip.state in ("left", "doubted") else TEXT
        wide = min(breadth(text, size) + 14, room)
        if x > INDENT and x + wide > INDENT + room:
            x, y = INDENT, y + CHIP + GAP
        shapes.append(Block(x, y, wide, CHIP, f"chip {chip.state}", CHIP / 2))
        shapes.append(fitted(x + wide / 2, y + 13.5, text, size, wide - 10, f"chip {chip.state}", "middle"))
        if chip.state == "out":
            shapes.append(Stroke(((x + 5, y + CHIP / 2), (x + wide - 5, y + CHIP / 2)), "crossed"))
        x += wide + GAP
    return y + CHIP if chips else y
