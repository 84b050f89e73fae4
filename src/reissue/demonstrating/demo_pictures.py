"""The demo's pictures: one patient traced, who is exposed when, the share of a diagnosis by age; and all for the README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reissue.demonstrating.demo_run import M, Demo, Exposure, Way
from reissue.demonstrating.traced_patient import Stop, Traced
from reissue.pages import traces
from reissue.pages.pictures import Block, Dot, Picture, Shape, Stroke, Words
from reissue.pages.plots import Line, line_plot

WIDTH = 280.0
"""Of one column, in units of the picture, which are pixels where it has room."""
SQUARE, ACROSS = 5.6, 10
"""Of a hundred squares, each a hundredth of the patients: how wide one is, and how many stand side by side."""
AXIS = 0.05
"""Shares are drawn up to a multiple of it."""


def patient_picture(patient: Traced, way: Way, stops: Sequence[Stop]) -> Picture | None:
    """The patient's way through the releases of one way to publish; None where they are in none of them."""
    if not stops:
        return None
    return traces.trace(
        f"{patient.patient} in the releases of {way.method}",
        "; ".join(f"month {stop.month}: {_in_words(stop)}" for stop in stops) + f". {outcome(stops)}",
        [
            traces.Stop(
                f"Month {stop.month}",
                tuple(
                    traces.Chip(value, times, _state(value, stop, alone=len(stops[-1].left) == 1))
                    for value, times in stop.diagnoses.items()
                ),
                published_as(stop),
            )
            for stop in stops
        ],
        outcome(stops),
        width=WIDTH,
    )


def _state(value: str, stop: Stop, *, alone: bool) -> traces.State:
    if not alone:
        return "open"
    return "left" if value in stop.left else "out"


def _in_words(stop: Stop) -> str:
    return f"{', '.join(stop.diagnoses)} are shown, {', '.join(stop.left)} left"


def outcome(stops: Sequence[Stop]) -> str:
    """What the releases together leave of a diagnosis."""
    left = stops[-1].left
    if len(left) == 1:
        return f"Only {left[0]} was there every month."
    return f"{len(left)} are left, the same in every month."


def published_as(stop: Stop) -> str:
    """The quasi-identifiers of a group in a line."""
    age, zip_code = ("–".join(map(str, dict.fromkeys(bounds))) for bounds in (stop.age, stop.zip))
    rows = f"{stop.rows} rows" if stop.rows > 1 else "1 row"
    return f"age {age}, zip {zip_code}, {stop.sex}: {rows}"


def exposure_picture(way: Way) -> Picture:
    """A hundred squares after each month: whose diagnosis is certain, likelier than the limit, neither."""
    shapes: list[Shape] = []
    side = SQUARE * ACROSS
    step = (WIDTH - side) / max(len(way.exposure) - 1, 1) if len(way.exposure) > 3 else side + 22
    for number, found in enumerate(way.exposure):
        x = number * step
        shapes.append(Words(x, 11, f"Month {found.month}", "strong"))
        shapes += _squares(found, x, 18)
        shapes.append(Words(x, 18 + side + 14, f"{found.certain:,}", "figure certain" if found.certain else "figure"))
        shapes.append(Words(x, 18 + side + 26, f"of {found.patients:,}", "soft"))
    told = "; ".join(
        f"after month {found.month}, of {found.patients:,} patients {found.certain:,} certain and "
        f"{found.exposed - found.certain:,} more likelier than 1 in {M}"
        for found in way.exposure
    )
    return Picture(f"Patients exposed by {way.method}", f"{told}.", WIDTH, 18 + side + 30, tuple(shapes))


def _squares(found: Exposure, x: float, y: float) -> Iterator[Shape]:
    """A square of squares, filled from the top: certain, likely, neither."""
    certain, exposed = (_hundredths(count, found.patients) for count in (found.certain, found.exposed))
    side = SQUARE * ACROSS
    yield Block(x, y, side, side, "unexposed")
    yield from _filled(x, y, 0, exposed, "likely")
    yield from _filled(x, y, 0, certain, "certain")
    for line in range(1, ACROSS):
        at = line * SQUARE
        yield Stroke(((x + at, y), (x + at, y + side)), "cut")
        yield Stroke(((x, y + at), (x + side, y + at)), "cut")


def _hundredths(count: int, of: int) -> int:
    """How many of a hundred squares stand for a count: at least one for somebody, not all unless it is everybody."""
    return min(max(round(100 * count / of), int(count > 0)), 100 if count == of else 99) if of else 0


def _filled(x: float, y: float, first: int, end: int, kind: str) -> Iterator[Block]:
    """The squares from `first` to `end`, row by row: whole rows at once."""
    rows, rest = divmod(end - first, ACROSS)
    if rows:
        yield Block(x, y, SQUARE * ACROSS, rows * SQUARE, kind)
    if rest:
        yield Block(x, y + rows * SQUARE, rest * SQUARE, SQUARE, kind)


def gradient_picture(demo: Demo, way: Way) -> Picture | None:
    """The share of a diagnosis by age, as estimated from the public files of one way, beside the truth."""
    estimates = [max(share.estimate, 0.0) for share in way.shares]
    bounds = way.interval != "none"
    published = Line(
        "published",
        estimates,
        [share.low for share in way.shares] if bounds else None,
        [share.high for share in way.shares] if bounds else None,
        kind=0,
    )
    return line_plot(
        f"{demo.diagnosis} by age, from {way.method}",
        "; ".join(_told(*row) for row in zip(demo.bands, demo.truth, way.shares, strict=True)) + ".",
        demo.bands,
        [published, Line("truth", demo.truth, kind=2)],
        x="age",
        shares=True,
        top=_top(demo),
        width=WIDTH,
        height=190.0,
    )


def _told(band: str, truth: float, share: object) -> str:
    estimate, low, high = (getattr(share, name) for name in ("estimate", "low", "high"))
    between = "" if low is None else f", between {low:.1%} and {high:.1%}"
    return f"{band}: {estimate:.1%}{between}; the truth is {truth:.1%}"


def _top(demo: Demo) -> float:
    """Where the axis of shares ends, the same for all ways."""
    every = [share.high or share.estimate for way in demo.ways for share in way.shares]
    highest = max(*every, *demo.truth)
    return AXIS * -(-highest // AXIS)


def readme_picture(demo: Demo) -> Picture:
    """For each way a column: the patient traced, and who is exposed."""
    gap, shapes, tall = 34.0, [], 0.0
    columns = []
    for number, way in enumerate(demo.ways):
        parts = [exposure_picture(way)]
        if demo.patient is not None and (told := patient_picture(demo.patient, way, demo.patient.ways[number])):
            parts.insert(0, told)
        columns.append((way, parts))
    patient = demo.patient
    where = [26.0, 26.0]
    for at in range(max(len(parts) for _, parts in columns)):
        where.append(where[-1] + max(parts[at].height for _, parts in columns if at < len(parts)) + 44)
    for number, (way, parts) in enumerate(columns):
        x = 16 + number * (WIDTH + gap)
        shapes.append(Words(x, 24, heading(way), "heading"))
        for at, part in enumerate(parts):
            y = where[at + 1] + 22
            words = (
                f"What is left of {patient.patient}’s diagnosis"
                if patient is not None and at == 0
                else f"Diagnoses that are certain, of {demo.patients:,} patients a month"
            )
            shapes.append(Words(x, y - 2, words, "soft"))
            shapes += [moved(shape, x, y + 6, good=way.protects_series) for shape in part.shapes]
            tall = max(tall, y + 6 + part.height)
    description = " ".join(part.title + ": " + part.description for _, parts in columns for part in parts)
    width = 32 + len(columns) * WIDTH + (len(columns) - 1) * gap
    title = "An invented hospital, published month after month in three ways"
    return Picture(title, description, width, tall + 12, tuple(shapes))


def heading(way: Way) -> str:
    """A way to publish in a few words."""
    return f"{CALLED[way.method]}: {'protects the series' if way.protects_series else 'each month by itself'}"


CALLED = {"Mondrian": "Mondrian", "MInvariance": "m-invariance", "Alternatives": "Alternatives"}
"""What the methods are called in text."""


def moved(shape: Shape, x: float, y: float, *, good: bool) -> Shape:
    """A shape at another place; what follows is good news or bad."""
    kind = f"{shape.kind} good" if good and shape.kind in ("outcome", "end") else shape.kind
    if isinstance(shape, Stroke):
        return Stroke(tuple((across + x, down + y) for across, down in shape.points), kind)
    if isinstance(shape, Words):
        return replace(shape, x=shape.x + x, y=shape.y + y, kind=kind)
    if isinstance(shape, Block):
        return replace(shape, x=shape.x + x, y=shape.y + y, kind=kind)
    return Dot(shape.x + x, shape.y + y, shape.size, kind, shape.form)
