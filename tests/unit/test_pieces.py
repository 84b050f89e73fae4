"""Tables in pieces: what is gone through piece by piece is what there is."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.errors import InternalError
from reissue.model.pieces import MadePieces, Slices, cut, even, in_pieces, whole

SIZES = st.lists(st.integers(0, 9), max_size=12)


def in_sizes(frame: pl.DataFrame, sizes: list[int]) -> MadePieces:
    def make() -> Iterator[pl.DataFrame]:
        begin = 0
        for size in sizes:
            yield frame.slice(begin, size)
            begin += size

    return MadePieces(frame.schema, frame.height, make)


def table(rows: int) -> pl.DataFrame:
    labels = pl.Series("label", [["a", "b", None][at % 3] for at in range(rows)], dtype=pl.Enum(["b", "a"]))
    return pl.DataFrame({"number": pl.int_range(rows, eager=True), "label": labels})


@given(SIZES)
def test_the_pieces_of_a_table_are_the_table_at_every_pass(sizes: list[int]) -> None:
    frame = table(sum(sizes))
    made = in_sizes(frame, sizes)
    for _ in range(2):
        assert whole(made).equals(frame)
        assert whole(made).schema == frame.schema


@given(SIZES, st.integers(1, 12))
def test_slices_are_pieces_of_a_frame(sizes: list[int], rows: int) -> None:
    frame = table(sum(sizes))
    slices = Slices(frame, rows)
    assert (slices.schema, slices.height) == (frame.schema, frame.height)
    assert whole(slices).equals(frame)
    assert all(piece.height <= rows for piece in slices)


@given(SIZES, st.integers(1, 12))
def test_a_cut_is_the_same_in_whatever_pieces_the_rows_come(sizes: list[int], rows: int) -> None:
    frame = table(sum(sizes))
    pieces, slices = list(cut(in_sizes(frame, sizes), rows)), list(cut(frame, rows))
    heights = [piece.height for piece in pieces]
    assert heights == [piece.height for piece in slices]
    assert all(one.equals(other) for one, other in zip(pieces, slices, strict=True))
    assert pl.concat(pieces).equals(frame)
    assert set(heights[:-1]) <= {rows}
    assert heights == [0] if not frame.height else 0 < heights[-1] <= rows


def test_a_cut_asks_for_no_piece_before_it_needs_it() -> None:
    asked = 0

    def make() -> Iterator[pl.DataFrame]:
        nonlocal asked
        for _ in range(4):
            asked += 1
            yield table(3)

    parts = cut(MadePieces(table(0).schema, 12, make), 3)
    for number in range(1, 5):
        next(parts)
        assert asked == number


@given(st.integers(0, 500), st.integers(1, 60))
def test_even_sizes_are_few_and_alike(total: int, most: int) -> None:
    sizes = even(total, most)
    assert sum(sizes) == total
    assert len(sizes) == -(-total // most)
    assert not sizes or (max(sizes) <= most and max(sizes) - min(sizes) <= 1)


def test_a_frame_is_taken_as_it_is_and_cut_where_pieces_are_asked_for() -> None:
    frame = table(5)
    assert whole(frame) is frame
    assert [piece.height for piece in in_pieces(frame, 2)] == [2, 2, 1]
    made = in_sizes(frame, [5])
    assert in_pieces(made, 2) is made


def test_pieces_with_another_height_or_schema_are_a_mistake() -> None:
    frame = table(3)
    for wrong in (
        MadePieces(frame.schema, 4, lambda: iter([frame])),
        MadePieces(frame.schema, 2, lambda: iter([frame])),
        MadePieces(frame.schema, 3, lambda: iter([frame.cast({"number": pl.Int32})])),
        MadePieces(frame.schema, 3, lambda: iter([frame.select("label", "number")])),
    ):
        with pytest.raises(InternalError):
            whole(wrong)


def test_sizes_below_one_are_a_mistake() -> None:
    for wrong in (lambda: Slices(table(3), 0), lambda: even(3, 0)):
        with pytest.raises(InternalError):
            wrong()


def test_no_piece_shows_its_rows() -> None:
    frame = pl.DataFrame({"id": ["secret-1"]})
    made = MadePieces(frame.schema, 1, lambda: iter([frame]))
    assert "secret" not in f"{made!r}{Slices(frame, 1)!r}"
