"""Labels found in one pass, against those found by looking at every row."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest

from reissue.errors import TableError
from reissue.model.hierarchy import MISSING
from reissue.model.schema import Categorical, Numeric, Schema
from reissue.tables import coding
from reissue.tables.coding import KnownBefore, code_table
from reissue.tables.labels import FIRST_ROWS, find_labels

RARE = ["common"] * (FIRST_ROWS + 5) + ["rare", "rarer", "rare"]
"""The first rows do not tell which labels there are."""
COLUMNS = {
    "text": pl.Series(["b", "a", "b", "c"]),
    "text with gaps": pl.Series(["b", None, "b", "c", None]),
    "nothing but gaps": pl.Series([None, None], dtype=pl.String),
    "labels that come late": pl.Series(RARE),
    "labels that come late, with gaps": pl.Series([None, *RARE]),
    "as many labels as rows": pl.Series([f"{row:05}" for row in range(3000)]),
    "whole numbers": pl.Series([3, 1, 2, 3, -4]),
    "whole numbers with gaps": pl.Series([3, None, 2, 3, -4, 5, 6]),
    "numbers far apart": pl.Series([3, 10**12, -(10**15)]),
    "narrow numbers": pl.Series([-128, 127, 0, 5] * 40, dtype=pl.Int8),
    "unsigned numbers": pl.Series([2**64 - 1, 2**64 - 2, 2**64 - 1, 2**64 - 4], dtype=pl.UInt64),
    "truth": pl.Series([True, False, True, None]),
    "dates": pl.Series([date(2020, 1, 2), date(2019, 1, 2)]),
    "an enum": pl.Series(["b", "a", "b"], dtype=pl.Enum(["c", "b", "a"])),
}


@pytest.mark.parametrize("expected", [(), ("a", "zz"), ("b", "3", "common")])
@pytest.mark.parametrize("name", COLUMNS)
def test_every_row_has_its_label(name: str, expected: tuple[str, ...]) -> None:
    column = COLUMNS[name]
    text = [None if label is None else str(label) for label in column.cast(pl.String).to_list()]
    found = find_labels(column, {*expected, MISSING}, lambda labels: tuple(sorted(labels)))
    assert found is not None
    assert found.used == sorted({label for label in text if label is not None})
    assert [found.count([label]) for label in found.used] == [text.count(label) for label in found.used]
    for labels in (found.labels, tuple(sorted(found.labels, reverse=True)), (MISSING, *found.used, "one more")):
        codes = found.coded(labels, MISSING)
        assert [labels[code] for code in codes] == [MISSING if label is None else label for label in text]


def test_other_types_have_no_labels() -> None:
    assert find_labels(pl.Series([1.5]), (), tuple) is None


def test_columns_at_once_say_and_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema(
        person="person", quasi={"age": Numeric(), "code": Categorical(), "town": Categorical()}, sensitive="value"
    )
    rng = np.random.default_rng(1)
    good = pl.DataFrame(
        {
            "person": rng.permutation(300),
            "age": rng.integers(0, 90, 300),
            "code": rng.integers(-3, 9, 300),
            "town": [f"town {number}" for number in rng.integers(0, 20, 300)],
            "value": [f"value {number}" for number in rng.integers(0, 5, 300)],
        }
    )
    bad = good.with_columns(person=pl.lit(1), age=pl.lit("x"), town=pl.lit(None, dtype=pl.String))

    def both() -> tuple[list[object], str]:
        coded = code_table(good, schema)
        again = code_table(good, schema, KnownBefore(domain=coded.domain))
        with pytest.raises(TableError) as error:
            code_table(bad, schema, KnownBefore(domain=coded.domain))
        columns = [*coded.snapshot.quasi, coded.snapshot.values]
        return [
            list(coded.domain.columns.items()),
            again.domain == coded.domain,
            *(column.decode().to_list() for column in columns),
            *(column.codes.dtype for column in columns),
        ], str(error.value)

    one_by_one = both()
    monkeypatch.setattr(coding, "COLUMNS_FROM", 1)
    assert both() == one_by_one
