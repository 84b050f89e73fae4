"""Plots as pictures: lines over releases or classes, with intervals; bars. None where there is nothing to show.

Lines are told apart by their marks and dashes and are named at their ends, so that grey is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reissue.pages.pictures import BOLD, Block, Dot, Picture, Shape, Stroke, Words, breadth, broken, fitted, ticks

TEXT = 11.0
FORMS = ("round", "square", "diamond", "ring")
LEFT, TOP, BOTTOM = 40.0, 12.0, 36.0
"""Room for the axes, in units of the picture, which are pixels where it has room."""


@dataclass(frozen=True)
class Line:
    """Figures over the places of the x axis, None where there is none."""

    name: str
    values: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    """Where an interval belongs to each figure."""
    kind: int | None = None
    """Which of the four ways to draw a line, counted from 0; None: by its place."""


def line_plot(
    title: str,
    description: str,
    places: Sequence[str],
    lines: Sequence[Line],
    *,
    x: str,
    shares: bool = False,
    limit: float | None = None,
    top: float | None = None,
    width: float = 420.0,
    height: float = 210.0,
) -> Picture | None:
    """Lines over places; `shares` are told in per cent, `limit` is a dashed line, `top` the end of the y axis."""
    lines = [line for line in lines if any(value is not None for value in line.values)]
    if not lines or not places:
        return None
    right = min(max(max(breadth(line.name, TEXT * BOLD) for line in lines) + 12, 40), width * 0.36)
    every = [value for line in lines for ones in (line.values, line.high or ()) for value in ones if value is not None]
    highest = top or max([*every, limit or 0.0])
    marks = ticks(highest or 1.0, whole=not shares)
    end = marks[-1]
    across, up = width - LEFT - right, height - TOP - BOTTOM

    def at_x(place: int) -> float:
        return LEFT + across * ((place + 0.5) / len(places))

    def at_y(value: float) -> float:
        return TOP + up * (1 - value / end)

    shapes = _frame(marks, at_y, LEFT + across, shares)
    shapes += _places(places, at_x, across / len(places), height - BOTTOM + 14)
    shapes.append(Words(LEFT + across / 2, height - 6, x, "soft", "middle"))
    if limit is not None:
        shapes.append(Stroke(((LEFT, at_y(limit)), (LEFT + across, at_y(limit))), "limit"))
    names = []
    for number, line in enumerate(lines):
        kind = number % 4 if line.kind is None else line.kind % 4
        drawn = [(at_x(place), at_y(value)) for place, value in enumerate(line.values) if value is not None]
        # Intervals of several lines stand beside each other.
        aside = (number - (len(lines) - 1) / 2) * 4 if line.low is not None else 0.0
        drawn = [(across_at + aside, up_at) for across_at, up_at in drawn]
        for place, (low, high) in enumerate(zip(line.low or (), line.high or (), strict=True)):
            if low is not None and high is not None:
                x_at = at_x(place) + aside
                shapes.append(Stroke(((x_at, at_y(max(low, 0.0))), (x_at, at_y(min(high, end)))), f"interval-{kind}"))
        if len(drawn) > 1:
            shapes.append(Stroke(tuple(drawn), f"line-{kind}"))
        shapes += [Dot(*point, 3.2, f"line-{kind}", FORMS[kind]) for point in drawn]
        names.append((drawn[-1][1], line.name, kind, drawn[-1][0]))
    shapes += _names(names, LEFT + across + 6, right - 8, height - BOTTOM)
    return Picture(title, description, width, height, tuple(shapes))


def bar_plot(
    title: str,
    description: str,
    bars: Sequence[tuple[str, float]],
    *,
    x: str,
    shares: bool = False,
    strong: Sequence[int] = (),
    width: float = 420.0,
    height: float = 190.0,
) -> Picture | None:
    """A bar for each place; those in `strong`, by position, stand out."""
    if not any(value for _, value in bars):
        return None
    marks = ticks(max(value for _, value in bars), whole=not shares)
    across, up = width - LEFT - 8, height - TOP - BOTTOM
    step = across / len(bars)
    wide = min(step * 0.72, 40.0)

    def at_x(place: int) -> float:
        return LEFT + step * (place + 0.5)

    def at_y(value: float) -> float:
        return TOP + up * (1 - value / marks[-1])

    shapes = _frame(marks, at_y, LEFT + across, shares)
    for place, (_, value) in enumerate(bars):
        kind = "bar strong" if place in strong else "bar"
        shapes.append(Block(at_x(place) - wide / 2, at_y(value), wide, at_y(0) - at_y(value), kind))
        told = _told(value, shares)
        # Where the bars beside it end well below, a figure may be wider than its own.
        beside = [at_y(bars[one][1]) for one in (place - 1, place + 1) if 0 <= one < len(bars)]
        room = 2 * step if all(y > at_y(value) + TEXT for y in beside) else step
        if value and (wide_told := breadth(told, TEXT)) < room:
            middle = min(at_x(place), LEFT + across - wide_told / 2)
            shapes.append(Words(middle, at_y(value) - 3, told, "figure", "middle"))
    shapes += _places([name for name, _ in bars], at_x, step, height - BOTTOM + 14)
    shapes.append(Words(LEFT + across / 2, height - 6, x, "soft", "middle"))
    return Picture(title, description, width, height, tuple(shapes))


def _told(value: float, shares: bool) -> str:
    return f"{value * 100:g} %" if shares else f"{value:,.10g}"


def _frame(marks: Sequence[float], at_y: Callable[[float], float], right: float, shares: bool) -> list[Shape]:
    """The y axis: a line and a figure for each mark."""
    shapes: list[Shape] = []
    for mark in marks:
        shapes.append(Stroke(((LEFT, at_y(mark)), (right, at_y(mark))), "axis" if mark == 0 else "grid"))
        shapes.append(Words(LEFT - 5, at_y(mark) + 4, _told(mark, shares), "soft", "end"))
    return shapes


def _places(places: Sequence[str], at_x: Callable[[int], float], step: float, y: float) -> list[Shape]:
    """The names of the places below the x axis: all of them, or every second, third, ... that has room."""
    widest = max(breadth(place, TEXT) for place in places)
    every = next((n for n in (1, 2, 3, 5, 10, 20, 50, 100) if step * n > min(widest + 6, 64.0)), len(places))
    return [
        fitted(at_x(number), y, place, TEXT, max(step * every - 4, 10.0), "soft", "middle")
        for number, place in enumerate(places)
        if number % every == 0
    ]


def _names(names: Sequence[tuple[float, str, int, float]], x: float, room: float, bottom: float) -> list[Shape]:
    """The names of the lines at their ends, none on top of another."""
    shapes: list[Shape] = []
    below = TOP - 8.0
    placed: list[tuple[float, list[str], int, str]] = []
    for y, name, kind, _ in sorted(names):
        lines = broken(name, TEXT * BOLD, room, 2)
        below = max(y + 4, below + 14)
        placed.append((below, lines, kind, name))
        below += 12 * (len(lines) - 1)
    # What was pushed below the picture is moved up again, and the others with it.
    over = max(0.0, below - bottom)
    for y, lines, kind, name in placed:
        for number, line in enumerate(lines):
            whole = None if " ".join(lines) == name else name
            shapes.append(Words(x, y - over + 12 * number, line, f"name line-{kind}", "start", whole))
    return shapes
