"""Sets as lists of codes: read from public tables, added up, and the same people over releases, against plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reissue.arrays.cores import PARALLEL_FROM
from reissue.arrays.dense import numbered_words
from reissue.errors import SeriesDamaged, TableError
from reissue.model.sets import SetDesigns, SetLists
from reissue.reasoning.alternatives.designing import design_of
from reissue.tables.frames import PART, read_in_parts
from reissue.tables.set_views import read_lists
from reissue.utility.analysing.matched_rows import clusters
from tests.profiles import seeds

LABELS = ("ash", "beech", "cedar", "elm", "fir")


def designs_of(shares: list[float], m: int, labels: tuple[object, ...] = LABELS) -> SetDesigns:
    design = design_of(np.array(shares), m)
    return SetDesigns(labels, (design,), (np.arange(design.values),), (1,))


@pytest.mark.parametrize("rows", [1, 7, PARALLEL_FROM * 2 + 1])
def test_sums_over_lists(rows: int) -> None:
    """Lists of all lengths, of two designs, in one part and in several."""
    rng = np.random.default_rng(rows)
    lengths = rng.integers(1, 6, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    codes, design = rng.integers(0, 5, starts[-1]), rng.integers(0, 2, rows)
    lists = SetLists(codes.astype(np.uint16), starts, design)
    assert (lists.lengths == lengths).all()
    owner = np.repeat(np.arange(rows), lengths)
    for questions in (1, 3):
        weights = rng.integers(-9, 9, (12, questions)).astype(np.float64)
        expected = np.zeros((rows, questions))
        np.add.at(expected, owner, weights[codes + 6 * design[owner]])
        assert (lists.sums(weights, np.array([0, 6])) == expected).all()
    large = rng.integers(0, 2**63, (5, 1), dtype=np.uint64) * np.uint64(2)
    alike = np.zeros(rows, dtype=np.uint64)
    np.add.at(alike, owner, large[codes, 0])
    assert (lists.sums(large)[:, 0] == alike).all(), "words go round"


def test_lists_in_pieces() -> None:
    """A column that lies in several pieces gives the codes of its values one by one, and so do its parts together."""
    rng = np.random.default_rng(1)
    sets = [rng.choice(5, 2, replace=False).tolist() for _ in range(50)]
    for labels in (LABELS, (1.5, 2.0, 4.0, 8.0, 16.0), (3, 1, 2, 5, 9)):
        column = pl.Series("v", [[labels[code] for code in one] for one in sets])
        pieces = pl.concat([column[:20].to_frame(), column[20:21].to_frame(), column[21:].to_frame()], rechunk=False)
        assert pieces["v"].n_chunks() == 3
        designs = designs_of([0.2] * 5, 2, labels)
        parts = [read_lists(part, designs, "v") for part in (pieces[3:30], pieces[30:30], pieces[30:])]
        for lists in (read_lists(pieces[3:], designs, "v"), SetLists.joined(parts)):
            assert lists.codes.tolist() == [code for one in sets[3:] for code in one]
            assert lists.starts.tolist() == list(range(0, 95, 2))
            assert lists.design.tolist() == [0] * 47


def test_a_file_in_parts(tmp_path: Path) -> None:
    """Small parts of a file are read together, large ones by themselves; nothing is lost, also of an empty one."""
    frame = pl.DataFrame({"a": np.arange(5 * PART // 2), "b": ["x", "y"] * (5 * PART // 4)})
    for rows, number in ((PART // 2, 3), (PART, 3), (2 * PART, 2), (10 * PART, 1)):
        frame.write_parquet(tmp_path / "file.parquet", row_group_size=rows)
        parts = [part() for part in read_in_parts(tmp_path / "file.parquet", ["b", "a"])]
        assert len(parts) == number
        assert pl.concat(parts).equals(frame.select("b", "a"))
    frame.clear().write_parquet(tmp_path / "file.parquet")
    assert [part().shape for part in read_in_parts(tmp_path / "file.parquet", ["a"])] == [(0, 1)]
    (tmp_path / "file.parquet").write_bytes(b"PAR1 but not really PAR1")
    with pytest.raises(TableError, match="cannot be read as a Parquet table"):
        read_in_parts(tmp_path / "file.parquet", ["a"])


def test_lists_that_their_design_does_not_explain() -> None:
    designs = designs_of([0.2] * 5, 2)
    for wrong, why in (
        ([["ash", "elm"], []], "slots"),
        ([["ash", "elm"], None], "slots"),
        ([["ash", "elm"], ["fir"]], "slots"),
        ([["ash", "elm"], ["fir", "oak"]], "values that its design does not have"),
        ([["ash", "elm"], ["fir", None]], "values that its design does not have"),
    ):
        with pytest.raises(SeriesDamaged, match=why) as raised:
            read_lists(pl.DataFrame({"v": wrong}), designs, "v")
        assert "oak" not in str(raised.value)
    with pytest.raises(SeriesDamaged, match="values that its design does not have"):
        read_lists(pl.DataFrame({"v": [[1.0, 3.0]]}), designs_of([0.2] * 5, 2, (1.0, 2.0, 4.0, 8.0, 16.0)), "v")


def test_slots_are_counted_by_the_design_of_each_row() -> None:
    """One design gives ash two slots of three, the other one."""
    wide, even = design_of(np.array([0.4, *[0.15] * 4]), 3), design_of(np.array([0.2] * 5), 3)
    assert (wide.slots.tolist(), even.slots.tolist()) == ([2, 1, 1, 1, 1], [1, 1, 1, 1, 1])
    designs = SetDesigns(LABELS, (wide, even), (np.arange(5), np.arange(5)), (1, 2))
    two, three = ["ash", "elm"], ["ash", "beech", "elm"]
    assert read_lists(pl.DataFrame({"design": [1, 2], "v": [two, three]}), designs, "v").design.tolist() == [0, 1]
    with pytest.raises(SeriesDamaged, match="slots"):
        read_lists(pl.DataFrame({"design": [2, 2], "v": [two, three]}), designs, "v")


@pytest.mark.parametrize("seed", seeds(3, 60))
def test_words_are_numbered_as_they_come(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2**64, rng.integers(1, 200), dtype=np.uint64)
    words = rng.choice(np.append(kinds, np.array([0, 2**64 - 1], dtype=np.uint64)), rng.integers(0, 500))
    numbers, first = numbered_words(words)
    order = list(dict.fromkeys(words.tolist()))
    assert numbers.tolist() == [order.index(word) for word in words.tolist()]
    assert words[first].tolist() == order


@pytest.mark.parametrize("seed", seeds(3, 60))
def test_clusters_pair_the_first_with_the_first_and_the_second_with_the_second(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = [rng.integers(0, 9, rng.integers(1, 12)).astype(np.uint64) for _ in range(4)]
    named: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for own, numbers in zip(words, clusters(words), strict=True):
        seen: Counter[int] = Counter()
        for word, number in zip(own.tolist(), numbers.tolist(), strict=True):
            named[number].add((word, seen[word]))
            seen[word] += 1
        assert len(set(numbers.tolist())) == own.size
    assert all(len(people) == 1 for people in named.values())
    assert len({person for people in named.values() for person in people}) == len(named)
    assert min(named) == 1 and max(named) == len(named)
