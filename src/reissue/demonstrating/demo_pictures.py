"""The demo's pictures: one patient traced, who is exposed when, a diagnosis by age; and one picture for the README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reissue.demonstrating.demo_run import LOOKS, Demo, Exposure, M, Way
from reissue.demonstrating.traced_patient import Stop, Traced
from reissue.errors import count_of
from reissue.pages import traces
from reissue.pages.pictures import Block, Dot, Picture, Shape, Stroke, Words, breadth
from reissue.pages.plots import Line, line_plot

WIDTH = 296.0
"""Of one column, in units of the picture, which are pixels where it has room."""
SQUARE, ACROSS = 6.2, 10
"""Of a hundred squares, each a hundredth of the patients: how wide one is, and how many stand side by side."""
MARGIN, GAP = 16.0, 34.0
KEY = 12.0
"""How large the words beside keys are."""
AXIS = 0.05
"""Shares are drawn up to a multiple of it."""
KEYS = (("certain", "diagnosis certain"), ("likely", f"likelier than 1 in {M}, and right"), ("unexposed", "neither"))
"""What the squares stand for."""


def patient_picture(patient: Traced, way: Way, stops: Sequence[Stop]) -> Picture | None:
    """The patient's way through the releases of one way to publish; None where they are in none of them."""
    if not stops:
        return None
    return traces.trace(
        f"{patient.patient} in the releases of {way.method}",
        "; ".join(f"month {stop.month}: {_in_words(stop)}" for stop in stops) + f". {outcome(stops)}",
        [
            traces.Stop(
                f"Month {stop.month}: {len(stop.left)} left",
                tuple(traces.Chip(value, times, _state(value, stop)) for value, times in stop.diagnoses.items()),
                published_as(stop),
            )
            for stop in stops
        ],
        outcome(stops),
        width=WIDTH,
    )


def _state(value: str, stop: Stop) -> traces.State:
    """A diagnosis is crossed out, may be theirs, or is."""
    if value not in stop.left:
        return "out"
    return "left" if len(stop.left) == 1 else "open"


def _in_words(stop: Stop) -> str:
    return f"{', '.join(stop.diagnoses)} are shown, {', '.join(stop.left)} left"


def outcome(stops: Sequence[Stop]) -> str:
    """What the releases together leave of a diagnosis."""
    left = stops[-1].left
    if len(left) == 1:
        return f"Only {left[0]} is left: certain."
    same = "the same in every month" if all(stop.left == left for stop in stops) else "after all months"
    return f"{len(left)} are left, {same}."


def published_as(stop: Stop) -> str:
    """The quasi-identifiers of a group in a line."""
    age, zip_code = ("–".join(map(str, dict.fromkeys(bounds))) for bounds in (stop.age, stop.zip))
    return f"age {age}, zip {zip_code}, {stop.sex}; {count_of(stop.rows, 'row')}"


def exposure_picture(way: Way) -> Picture:
    """A hundred squares after each month: whose diagnosis is certain, likelier than the limit, neither."""
    shapes: list[Shape] = []
    side = SQUARE * ACROSS
    step = (WIDTH - side) / (LOOKS - 1)
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
        "estimate",
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
    patient, way_count = demo.patient, len(demo.ways)
    traced = [
        told
        for number, way in enumerate(demo.ways)
        if patient is not None and (told := patient_picture(patient, way, patient.ways[number])) is not None
    ]
    exposed = [exposure_picture(way) for way in demo.ways]
    shapes: list[Shape] = []
    y = MARGIN
    for number, way in enumerate(demo.ways):
        shapes.append(Words(_column(number), y + 14, CALLED[way.method], "heading"))
        shapes.append(Words(_column(number), y + 31, in_short(way), "about"))
    y += 46
    if patient is not None and len(traced) == way_count:
        who = f"What is left of the diagnosis of {patient.patient}, {patient.age}, {patient.sex}, zip {patient.zip}"
        shapes += _row(demo, traced, who, y)
        y += 30 + max(picture.height for picture in traced)
    shapes += _row(demo, exposed, f"Diagnoses that are certain, of {demo.patients:,} patients a month", y)
    y += 34 + exposed[0].height
    x = MARGIN
    for kind, words in KEYS:
        shapes += [Block(x, y, 2 * SQUARE, 2 * SQUARE, kind), Words(x + 18, y + 10, words, "about")]
        x += 30 + breadth(words, KEY)
    shapes.append(Words(x + 10, y + 10, "Each square is a hundredth of the patients published so far.", "about"))
    description = " ".join(f"{part.title}: {part.description}" for part in (*traced, *exposed))
    title = f"An invented hospital, published for {demo.months} months in three ways"
    width = _column(way_count - 1) + WIDTH + MARGIN
    return Picture(title, description, width, y + 2 * SQUARE + MARGIN, tuple(shapes))


def _column(number: int) -> float:
    return MARGIN + number * (WIDTH + GAP)


def _row(demo: Demo, parts: Sequence[Picture], words: str, y: float) -> Iterator[Shape]:
    """A line of words, and a picture for each way below it."""
    yield Stroke(((MARGIN, y), (_column(len(parts) - 1) + WIDTH, y)), "grid")
    yield Words(MARGIN, y + 17, words, "strong")
    for number, (part, way) in enumerate(zip(parts, demo.ways, strict=True)):
        for shape in part.shapes:
            yield moved(shape, _column(number), y + 26, good=way.protects_series)


CALLED = {"Mondrian": "Mondrian", "MInvariance": "m-invariance", "Alternatives": "Alternatives"}
"""What the methods are called in text."""


def in_short(way: Way) -> str:
    """What a method does, in a few words."""
    return {
        "Mondrian": "each month by itself",
        "MInvariance": f"the same {M} diagnoses every month",
        "Alternatives": f"{M} diagnoses, one of them true",
    }[way.method]


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
