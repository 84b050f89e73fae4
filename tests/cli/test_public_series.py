"""Series in the manner of real ones, read with one option: what every row is read as is what was written there."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from command_line import Run
from public_series import ANYTHING, SERIES, Cell, Day, Label, PublicSeries, Span

from reissue.foreign import Foreign, read_releases
from reissue.foreign.headers import folded
from reissue.model.attributes import EVERYTHING, Attribute, Intervals, Sets


def read(series: PublicSeries, folder: Path) -> Foreign:
    series.write(folder)
    return read_releases(folder, sensitive=series.sensitive)


@pytest.mark.parametrize("name", SERIES)
def test_every_row_is_read_as_what_it_is(name: str, tmp_path: Path) -> None:
    series = SERIES[name]()
    foreign = read(series, tmp_path)
    assert [one.partition("/")[0] for one in foreign.names] == [one.name.partition("/")[0] for one in series.releases]
    values = [str(value) for value in foreign.published.values]
    for release, written in zip(foreign.published.releases, series.releases, strict=True):
        assert release.lines is not None and release.line_starts is not None and release.space is not None
        group_of = np.repeat(np.arange(release.group_count), np.diff(release.line_starts))
        assert sorted(release.lines.tolist()) == list(range(2 + written.above, 2 + written.above + len(written.rows)))
        places = {folded(column): attribute for column, attribute in release.space.attributes.items()}
        found = [dict[str, int]() for _ in range(release.group_count)]
        for line, group in zip(release.lines.tolist(), group_of.tolist(), strict=True):
            row = line - 2 - written.above
            for column, cell in written.rows[row].items():
                assert _is(places[folded(column)], group, cell), (column, cell)
            value = written.values[row]
            found[group][value] = found[group].get(value, 0) + 1
        for group, held in enumerate(found):
            positions, counts = release.values_of(group)
            assert Counter(held) == {values[at]: count for at, count in zip(positions, counts, strict=True)}


def _is(attribute: Attribute, box: int, cell: Cell) -> bool:
    """Whether a region says of a column what is known, no more and no less."""
    if isinstance(attribute, Intervals):
        low, high = float(attribute.low[box]), float(attribute.high[box])
        if cell is ANYTHING:
            return low == -np.inf and high == np.inf
        if isinstance(cell, Day):
            begin = datetime.combine(cell.day, datetime.min.time())
            return low == high and low == (begin - datetime(1970, 1, 1)) / timedelta(microseconds=1)
        return isinstance(cell, Span) and (low, high) == (cell.low, cell.high)
    assert isinstance(attribute, Sets)
    which = int(attribute.which[box])
    if which == EVERYTHING:
        return cell is ANYTHING
    held = [attribute.labels[at] for at in attribute.codes[attribute.starts[which] : attribute.starts[which + 1]]]
    return isinstance(cell, Label) and held == [cell.text]


@pytest.mark.parametrize("name", SERIES)
def test_guesses_are_told_and_questions_asked(name: str, tmp_path: Path) -> None:
    series = SERIES[name]()
    foreign = read(series, tmp_path)
    told = "\n".join(foreign.notes)
    for one in series.told:
        assert one in told
    assert not {folded(one) for one in foreign.quasi} & {folded(one) for one in series.left_out}
    for one in series.left_out:
        spelt = next(column for column in [*told.split("'")] if folded(column) == folded(one))
        assert f"'{spelt}'" in "\n".join(note for note in foreign.notes if "no quasi-identifier" in note)
    assert foreign.notes[: len(foreign.doubts)] == foreign.doubts


@pytest.mark.parametrize("name", SERIES)
def test_the_same_comes_of_what_was_saved(name: str, tmp_path: Path, run: Run) -> None:
    """The command as it is documented, and the file of options that it writes for the next time."""
    series = SERIES[name]()
    series.write(tmp_path / "data")
    first = run(
        *("audit", "data", "--sensitive", f'"{series.sensitive}"', "--limit", "1/2", "--seconds", 600),
        *("--save", "audit.toml", "--json"),
    )
    again = run("audit", "data", "--options", "audit.toml", "--json")
    assert first.code == again.code == 1, first.err
    one, two = first.data, again.data
    assert one["headline"]["sentence"].startswith("In release 3, the last, ")
    for part in ("headline", "findings", "disclosure", "criteria", "assumptions", "risks", "sections"):
        assert one[part] == two[part], part
