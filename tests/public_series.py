"""Series as agencies and tools publish them, made up in their manner, with what stands in every row known.

Each is written to files of its own. What is known of a row is a region for every column: a `Day`, a
`Span` of ages, a `Label`, or `ANYTHING`. Nothing here asks the library how a cell is read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

INFINITE = float("inf")
STATES = ("home", "hospital", "dead", "well")
CITIES = ("Bogotá", "Medellín", "Cali", "Cúcuta")


@dataclass(frozen=True)
class Day:
    day: date


@dataclass(frozen=True)
class Span:
    low: float
    high: float


@dataclass(frozen=True)
class Label:
    text: str


ANYTHING = None
Cell = Day | Span | Label | None
Row = tuple[list[str], dict[str, Cell], str]
"""The cells as they are written, what they stand for, and the sensitive value."""


@dataclass(frozen=True)
class Person:
    number: int
    age: int
    sex: str
    city: int
    onset: date
    fate: float

    def state(self, at: date) -> str:
        since = (at - self.onset).days
        if self.fate < 0.1:
            return "dead" if since > 20 else "hospital"
        return "well" if since > 30 else "hospital" if self.fate < 0.3 else "home"


@dataclass(frozen=True)
class Release:
    """A file, in the order of time."""

    name: str
    content: bytes
    rows: list[dict[str, Cell]]
    values: list[str]
    above: int = 0


@dataclass(frozen=True)
class PublicSeries:
    sensitive: str
    releases: tuple[Release, ...]
    left_out: frozenset[str] = frozenset()
    """Columns that are no quasi-identifiers unless somebody says so."""
    told: Sequence[str] = ()
    """What the notes must say."""
    more: Mapping[str, object] = field(default_factory=dict)
    """What is said to read it, beside the sensitive column."""

    def write(self, folder: Path) -> None:
        for one in self.releases:
            (folder / one.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / one.name).write_bytes(one.content)


DATES = (date(2020, 4, 12), date(2020, 5, 3), date(2020, 6, 20))


def people(rows: int, seed: int) -> list[Person]:
    draw = random.Random(seed)
    start = date(2020, 3, 6)
    born = [
        (
            draw.randrange(100),
            draw.choice("FM"),
            draw.randrange(4),
            start + timedelta(draw.randrange(80)),
            draw.random(),
        )
        for _ in range(rows)
    ]
    return [Person(number, *one) for number, one in enumerate(sorted(born, key=lambda one: one[3]), start=1)]


def _series(
    header: Sequence[str] | Callable[[int], Sequence[str]],
    row: Callable[[Person, date, int], Row],
    name: Callable[[date], str],
    sensitive: str,
    *,
    separator: str = ",",
    encoding: str = "utf-8",
    above: str = "",
    below: str = "",
    seed: int = 1,
    **known: object,
) -> PublicSeries:
    releases = []
    for number, at in enumerate(DATES):
        rows = [row(one, at, number) for one in people(260, seed) if one.onset < at]
        names = header(number) if callable(header) else header
        lines = [names, *(cells for cells, _, _ in rows)]
        text = above + "\n".join(separator.join(cells) for cells in lines) + "\n" + below
        releases.append(
            Release(
                name(at),
                text.encode(encoding),
                [one for _, one, _ in rows],
                [one for *_, one in rows],
                above.count("\n"),
            )
        )
    return PublicSeries(sensitive, tuple(releases), **known)  # type: ignore[arg-type]


def colombia() -> PublicSeries:
    """Spanish names, semicolons, Windows-1252, days as 6/3/2020 0:00:00; codes beside names, states beside states."""
    where = {"home": "Casa", "hospital": "Hospital", "dead": "Fallecido", "well": "Casa"}

    def row(one: Person, at: date, _: int) -> Row:
        state = one.state(at)
        died = one.onset + timedelta(21) if state == "dead" else None
        cells = [f"{one.number}", _spanish(one.onset), f"{5001 + one.city}", CITIES[one.city], f"{one.age}", one.sex]
        cells += [where[state], "1", _spanish(died)]
        known: dict[str, Cell] = {
            "Edad": Span(one.age, one.age),
            "Sexo": Label(one.sex),
            "Fecha de notificación": Day(one.onset),
            "Fecha de muerte": Day(died) if died else ANYTHING,
        }
        return cells, known, where[state]

    header = ["ID de caso", "Fecha de notificación", "Código DIVIPOLA", "Municipio", "Edad", "Sexo"]
    return _series(
        [*header, "Ubicación del caso", "Unidad de medida de edad", "Fecha de muerte"],
        row,
        lambda at: f"Casos_positivos_{at:%d-%m-%Y}.csv",
        "Ubicación del caso",
        separator=";",
        encoding="cp1252",
        left_out=frozenset({"ID de caso", "Municipio", "Unidad de medida de edad"}),
        told=["read as Windows-1252", "'Fecha de muerte' says by itself what 'Ubicación del caso' is"],
    )


def _spanish(day: date | None) -> str:
    return "" if day is None else f"{day.day}/{day.month}/{day.year} 0:00:00"


def philippines() -> PublicSeries:
    """Ages in bands of five in words, empty cells for those who are ill, a column that comes later."""

    def row(one: Person, at: date, number: int) -> Row:
        low = one.age // 5 * 5
        band = "80+" if one.age >= 80 else f"{low} to {low + 4}"
        removal = {"dead": "DIED", "well": "RECOVERED"}.get(one.state(at), "")
        cells = [f"C{404_000 + one.number * 7}", band, {"F": "FEMALE", "M": "MALE"}[one.sex], one.onset.isoformat()]
        cells += [removal, f"Region {one.city}", *([f"BRGY {one.number % 6}"] if number else [])]
        known: dict[str, Cell] = {
            "AgeGroup": Span(80, INFINITE) if one.age >= 80 else Span(low, low + 4),
            "DateRepConf": Day(one.onset),
            "RegionRes": Label(f"Region {one.city}"),
        }
        return cells, known, removal or "(missing)"

    header = ["CaseCode", "AgeGroup", "Sex", "DateRepConf", "RemovalType", "RegionRes"]
    return _series(
        lambda number: [*header, *(["BarangayRes"] if number else [])],
        row,
        lambda at: f"DOH COVID Data Drop_ {at:%Y%m%d} - 04 Case Information.csv",
        "RemovalType",
        left_out=frozenset({"CaseCode"}),
        told=["'BarangayRes' is in 2 of 3 releases", "of 'RemovalType', in 3 of 3 releases, without a value"],
    )


def mexico() -> PublicSeries:
    """Whole numbers in which 97 and 98 are codes, states with a leading zero, files named by years of two digits."""

    def row(one: Person, at: date, _: int) -> Row:
        state = one.state(at)
        state_code = f"{(9, 15, 2, 27)[one.city]:02}"
        smokes = ("1", "2", "98")[one.number % 3]
        cells = [at.isoformat(), f"{one.number * 7919 % 1_000_003:06x}", "12" if one.sex == "F" else "2", state_code]
        cells += [one.onset.isoformat(), f"{one.age}", smokes, "97" if state in ("home", "well") else "2", "México"]
        result = "1" if state == "dead" else "2" if one.fate < 0.6 else "3"
        known: dict[str, Cell] = {
            "EDAD": Span(one.age, one.age),
            "ENTIDAD_RES": Label(state_code),
            "FECHA_SINTOMAS": Day(one.onset),
            "TABAQUISMO": Span(float(smokes), float(smokes)),
        }
        return [*cells, result], known, result

    header = "FECHA_ACTUALIZACION,ID_REGISTRO,SECTOR,ENTIDAD_RES,FECHA_SINTOMAS,EDAD,TABAQUISMO,INTUBADO,PAIS,RESULTADO"
    return _series(
        header.split(","),
        row,
        lambda at: f"{at:%y%m%d}COVID19MEXICO.csv",
        "RESULTADO",
        encoding="latin-1",
        left_out=frozenset({"FECHA_ACTUALIZACION", "ID_REGISTRO", "PAIS"}),
        told=["read as Windows-1252", "98 stands apart from other numbers"],
    )


def florida() -> PublicSeries:
    """Bands with units, 05:00 UTC for midnight until summer time begins, row numbers, names of files month first."""
    bands = [(0, 4), (5, 14), (15, 24), (25, 34), (35, 44), (45, 54), (55, 64), (65, 74), (75, 84), (85, INFINITE)]

    def row(one: Person, at: date, _: int) -> Row:
        low, high = next(band for band in bands if band[0] <= one.age <= band[1])
        band = f"{low}+ years" if high == INFINITE else f"{low}-{high} years"
        unknown = one.number % 40 == 0
        hour = "05" if one.onset < date(2020, 3, 8) else "04"
        value = {"home": "NO", "well": "NO", "hospital": "YES", "dead": "YES"}[one.state(at)]
        cells = [f"County {one.city}", "Unknown" if unknown else band, f"{one.onset:%Y/%m/%d} {hour}:00:00+00", "Yes"]
        known: dict[str, Cell] = {
            "Age_group": ANYTHING if unknown else Span(low, high),
            "EventDate": Day(one.onset),
            "County": Label(f"County {one.city}"),
        }
        return [*cells, value, f"{one.number}"], known, value

    return _series(
        ["County", "Age_group", "EventDate", "Case_", "Hospitalized", "ObjectId"],
        row,
        lambda at: f"Florida_Line_Data_{at:%m%d%Y}.csv",
        "Hospitalized",
        encoding="utf-8-sig",
        left_out=frozenset({"Case_", "ObjectId"}),
        told=["as with --missing 'Age_group=unknown'", "the same time of the day everywhere"],
    )


def hong_kong() -> PublicSeries:
    """Days first, words in place of days, a title above and a remark below, names that change their case."""

    def row(one: Person, at: date, number: int) -> Row:
        unknown = one.number % 30 == 0
        value = {"dead": "Deceased", "well": "Discharged"}.get(one.state(at), "Hospitalised")
        began = one.onset - timedelta(one.number % 3)
        cells = [f"{one.number}", f"{one.onset:%d/%m/%Y}", "Unknown" if unknown else f"{began:%d/%m/%Y}", one.sex]
        known: dict[str, Cell] = {
            "Age": Span(one.age, one.age),
            "Report date": Day(one.onset),
            "Date of onset": ANYTHING if unknown else Day(one.onset - timedelta(one.number % 3)),
            "Gender": Label(one.sex),
        }
        return [*cells, f"{one.age}", value], known, value

    header = ["Case no.", "Report date", "Date of onset", "Gender", "Age", "Status"]
    return _series(
        lambda number: [name.upper() for name in header] if number else header,
        row,
        lambda at: f"{at:%Y%m%d}-1035-enhanced_sur_covid_19_eng.csv",
        "Status",
        above='"Details of cases, by day"\n\n',
        below="* provisional\n",
        left_out=frozenset({"Case no."}),
        told=["2 lines above its header", "1 line below its rows", "names that differ in case", "with the day first"],
    )


def sdcmicro() -> PublicSeries:
    """R's row names without a name, cuts as intervals, NA where a cell was suppressed."""

    def row(one: Person, at: date, _: int) -> Row:
        low, high = next(band for band in ((-1, 20), (20, 45), (45, 70), (70, 100)) if band[0] < one.age <= band[1])
        hidden = one.number % 9 == 0
        cells = [f'"{one.number}"', f'"({low},{high}]"', "NA" if hidden else str("MF".index(one.sex) + 1)]
        known: dict[str, Cell] = {
            "age": Span(low, high),
            "sex": ANYTHING if hidden else Span("MF".index(one.sex) + 1, "MF".index(one.sex) + 1),
        }
        return [*cells, one.state(at)], known, one.state(at)

    return _series(
        ['""', '"age"', '"sex"', '"illness"'],
        row,
        lambda at: f"{at:%B %Y}/sdc.csv",
        "illness",
        left_out=frozenset({"column 1"}),
        told=["1 column without a name, called 'column 1'"],
    )


SERIES: dict[str, Callable[[], PublicSeries]] = {
    "colombia": colombia,
    "philippines": philippines,
    "mexico": mexico,
    "florida": florida,
    "hong kong": hong_kong,
    "sdcmicro": sdcmicro,
}
