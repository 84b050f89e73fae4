"""All methods on the same streams: a row for each stream and method.

| column                           | what it is                                                                       |
|----------------------------------|----------------------------------------------------------------------------------|
| `refused`                        | why a method does not take a stream; then there is nothing else                  |
| `withheld`                       | people who should be in the last release and are not                             |
| `counterfeit`                    | rows of the last release that are nobody                                         |
| `replaced`                       | people published there with another value                                        |
| `counts`                         | median relative error of COUNT queries on the last release                       |
| `slopes`, `kept`, `turned`       | slopes and differences beyond chance; how many keep their sign, how many turn    |
| `size`                           | what is left of their size, the median                                           |
| `trend`                          | mean error of how much shares of values change, in groups, from first to last    |
| `coverage`, `intervals`          | how many 95 % intervals hold the truth, and how many there are                   |
| `attack`, `people`               | what `above` was found by; everybody who is in some release                      |
| `above`, `twice`, `undecided`    | those tied to a value with more than 1/m, and 2/m; those of whom it is not known |
| `certain`, `false`               | those left with one value if values are fixed; how many of these never had it    |
| `right`                          | those whose likeliest value, by all releases, is the true one                    |
| `likely`, `without`, `advantage` | `Likelihood` on the last release: right guesses, with and without own rows       |
| `note`                           | what could not be measured or decided, and why                                   |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from reissue.methods import Mondrian
from reissue.publishing.policy import Policy
from reissue.publishing.rehearsal import Rehearsal
from reissue_studies.methods import left, taken
from reissue_studies.methods.released import NotPublished, released
from reissue_studies.methods.setting import Setting
from reissue_studies.methods.streams import Stream
from reissue_studies.methods.ways import NO_LINK, WAYS, Way
from reissue_studies.progress import Progress, silent

__all__ = ["SCHEMA", "Setting", "compared", "compared_steps"]

SCHEMA = pl.Schema(
    {
        "stream": pl.String,
        "method": pl.String,
        "m": pl.Int64,
        "releases": pl.Int64,
        "rows": pl.Int64,
        "refused": pl.String,
        "withheld": pl.Float64,
        "counterfeit": pl.Float64,
        "replaced": pl.Float64,
        "counts": pl.Float64,
        "slopes": pl.Int64,
        "kept": pl.Int64,
        "turned": pl.Int64,
        "size": pl.Float64,
        "trend": pl.Float64,
        "coverage": pl.Float64,
        "intervals": pl.Int64,
        "attack": pl.String,
        "people": pl.Int64,
        "above": pl.Float64,
        "twice": pl.Float64,
        "undecided": pl.Float64,
        "certain": pl.Float64,
        "false": pl.Float64,
        "right": pl.Float64,
        "likely": pl.Float64,
        "without": pl.Float64,
        "advantage": pl.Float64,
        "note": pl.String,
    }
)


def compared(setting: Setting, *, progress: Progress = silent) -> pl.DataFrame:
    """Publish every stream in every way, measure what is left and attack what went out."""
    rows: list[dict[str, Any]] = []
    for name in setting.names:
        progress(f"{name}, its tables")
        stream = setting.stream(name)
        head = {
            "stream": name,
            "m": setting.m_of(name),
            "releases": len(stream.states),
            "rows": stream.states[-1].height,
        }
        rows += [{**head, **found} for found in _every_way(setting, stream, progress)]
    return pl.DataFrame(rows, schema=SCHEMA)


def compared_steps(setting: Setting) -> int:
    """How often `compared` calls its progress."""
    return len(setting.names) * (len(WAYS) + 2)


def _every_way(setting: Setting, stream: Stream, progress: Progress) -> Iterator[dict[str, Any]]:
    for way in WAYS:
        progress(f"{stream.name}, {way.name}")
        yield {"method": way.name, **_measured(setting, stream, way)}
    progress(f"{stream.name}, {NO_LINK}")
    yield {"method": NO_LINK, **_without_link(setting, stream)}


def _measured(setting: Setting, stream: Stream, way: Way) -> dict[str, Any]:
    try:
        with released(setting, stream, way) as series:
            told = left.left(series, setting)
            got = taken.taken(series, setting.seconds)
            notes = [one["note"] for one in (told, got) if one.get("note")]
            note = {"note": "; ".join(notes) or None}
            return {**series.shares(), **told, **got, **note}
    except NotPublished as refused:
        return {"refused": str(refused)}


def _without_link(setting: Setting, stream: Stream) -> dict[str, Any]:
    # Any method will do: what is wanted is the table as a series reads it.
    table = Rehearsal(Policy(stream.schema, Mondrian(k=2))).publish(stream.states[-1], seed=0).snapshot
    nothing = dict.fromkeys(("withheld", "counterfeit", "replaced"), 0.0)
    return {**nothing, **left.without_link(stream, table, setting.workload), **taken.without_link(stream)}
