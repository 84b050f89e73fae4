"""Templates and pictures: what enters a page is escaped, what is missing is an error, what is empty is not drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import UndefinedError

from reissue.pages.pictures import Block, Stroke, Words, breadth, broken, cut, ticks
from reissue.pages.plots import Line, bar_plot, line_plot
from reissue.pages.rendering import as_percent, render
from reissue.pages.traces import Chip, Stop, trace


def rendered(tmp_path: Path, text: str, **shown: object) -> str:
    """A template of its own folder each time, as templates are kept."""
    (tmp_path / "page.html").write_text(text)
    return render(tmp_path, "page.html", **shown)


def test_what_enters_is_escaped_once(tmp_path: Path) -> None:
    text = '{% import "parts.html" as parts %}{{ name }}|{{ parts.badge(name, "bad") }}|{{ absent }}'
    page = rendered(tmp_path, text, name="<b>\x1b[31m\u202e&", absent=None)
    plain, badge, nothing = page.split("|")
    assert plain == r"&lt;b&gt;\x1b[31m\u202e&amp;"
    assert plain in badge and "&amp;lt;" not in badge
    assert nothing == "–"


def test_a_name_that_nobody_gave_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UndefinedError, match="nobody"):
        rendered(tmp_path, "{{ nobody }}")


def test_shares_do_not_look_like_all_or_nothing() -> None:
    told = {0.0: "0 %", 1e-6: "< 0.1 %", 0.125: "12.5 %", 0.9999: "> 99.9 %", 1.0: "100 %"}
    assert {share: as_percent(share) for share in told} == told


def test_texts_are_cut_to_their_room() -> None:
    assert cut("short", 10, 200) == "short"
    long = cut("w" * 100, 10, 100)
    assert long.endswith("…") and breadth(long, 10) <= 100
    lines = broken("one two three four five six seven eight nine ten", 10, 60, 2)
    assert len(lines) == 2 and lines[-1].endswith("…")
    assert all(breadth(line, 10) <= 60 for line in lines)


@pytest.mark.parametrize(
    ("top", "whole"), [(1.0, False), (0.07, False), (3, True), (230, True), (1, True), (99_999, True)]
)
def test_axes_end_at_round_numbers_above(top: float, whole: bool) -> None:
    marks = ticks(top, whole=whole)
    assert marks[0] == 0 and top <= marks[-1] <= 2.6 * top and 2 <= len(marks) <= 12
    assert not whole or all(mark == int(mark) for mark in marks)


def test_empty_plots_are_not_drawn() -> None:
    assert bar_plot("t", "d", [("1", 0.0), ("2", 0.0)], x="release") is None
    assert bar_plot("t", "d", [], x="release") is None
    assert line_plot("t", "d", ["1"], [Line("a", [None])], x="release") is None
    assert trace("t", "d", [], "So.") is None


def test_bars_are_as_high_as_their_figures() -> None:
    drawn = bar_plot("t", "d", [("1", 10.0), ("2", 5.0), ("3", 0.0)], x="release", strong=(1,))
    assert drawn is not None
    bars = [one for one in drawn.shapes if isinstance(one, Block)]
    assert [one.kind for one in bars] == ["bar", "bar strong", "bar"]
    assert bars[0].height == pytest.approx(2 * bars[1].height) and bars[2].height == 0
    assert {one.text for one in drawn.shapes if isinstance(one, Words) and one.kind == "figure"} == {"10", "5"}


def test_a_figure_stands_above_its_bar_also_where_it_is_wider() -> None:
    """Of ten bars the last is the only high one; what stands above it ends where the plot does."""
    drawn = bar_plot("t", "d", [*((str(at), 40.0) for at in range(9)), ("9", 21_123.0)], x="up to")
    assert drawn is not None
    told = {one.text: one for one in drawn.shapes if isinstance(one, Words) and one.kind == "figure"}
    assert {*told} == {"40", "21,123"}
    bar = next(one for one in drawn.shapes if isinstance(one, Block) and one.height > 50)
    assert bar.x < told["21,123"].x < bar.x + bar.width
    # Beside a bar of the same height there is no room for it.
    drawn = bar_plot("t", "d", [(str(at), 21_123.0) for at in range(10)], x="up to")
    assert drawn is not None and not [one for one in drawn.shapes if isinstance(one, Words) and one.kind == "figure"]


def test_every_line_is_named_at_its_end() -> None:
    lines = [Line("Mondrian", [0.1, 0.9]), Line("truth", [0.2, 0.3], [0.1, 0.2], [0.3, 0.4])]
    drawn = line_plot("t", "d", ["a", "b"], lines, x="age", shares=True, limit=0.5)
    assert drawn is not None
    assert {one.text for one in drawn.shapes if isinstance(one, Words) and one.kind.startswith("name")} == {
        "Mondrian",
        "truth",
    }
    kinds = [one.kind for one in drawn.shapes if isinstance(one, Stroke)]
    assert kinds.count("interval-1") == 2 and kinds.count("limit") == 1


def test_a_trace_crosses_out_what_is_ruled_out() -> None:
    chips = (Chip("flu", 2, "left"), Chip("gout", 1, "out"), Chip("other", 1, "open"))
    drawn = trace(
        "t", "d", [Stop("release 1, group 1", chips, "a.csv line 2"), Stop("release 2", chips)], "So it is flu."
    )
    assert drawn is not None
    assert sum(isinstance(one, Stroke) and one.kind == "crossed" for one in drawn.shapes) == 2
    assert [one.text for one in drawn.shapes if isinstance(one, Words) and one.kind == "chip left"] == ["flu ×2"] * 2
    inside = [one for one in drawn.shapes if isinstance(one, Block) and one.kind.startswith("chip")]
    assert all(one.x >= 0 and one.x + one.width <= drawn.width for one in inside)
