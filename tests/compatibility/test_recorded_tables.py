"""Fixed tables and fixed seeds still give the tables they gave before."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import recorded_tables
from simple_people import canonical_hash

import reissue as ri

RECORDED = recorded_tables.recorded()
METHODS = {
    "AlphaK", "Alternatives", "CorSplit", "EEquivalence", "HDComposition", "Incremental", "MInvariance", "Mask",
    "Mondrian", "StaticI", "StaticII",
}  # fmt: skip


def test_every_method_is_recorded() -> None:
    assert list(RECORDED) == list(recorded_tables.CASES)
    assert {case.policy.method.name for case in recorded_tables.CASES.values()} == METHODS
    assert all(len(releases) == 3 for releases in RECORDED.values())


@pytest.mark.parametrize("name", recorded_tables.CASES)
def test_tables_are_as_recorded(name: str, tmp_path: Path) -> None:
    found = recorded_tables.computed(name, tmp_path / "series")
    assert [one["public"] for one in found] == [one["public"] for one in RECORDED[name]]
    assert found == RECORDED[name]


WORTH_IT = {
    "methods.cor_split.cor_partition": "PARALLEL_FROM",
    "methods.incremental.arrivals": "BOXED_TOGETHER",
    "methods.incremental.classes": "SEVERAL_CORES",
    "methods.invariance.splitting": "PARALLEL_FROM",
    "methods.partition.cutting": "PARALLEL_FROM",
    "model.sets": "PARALLEL_FROM",
    "model.snapshot": "SEVERAL_CORES",
    "reasoning.alternatives.drawing": "PARALLEL_FROM",
    "tables.coding": "COLUMNS_FROM",
    "tables.recode": "COLUMNS_FROM",
    "tables.views": None,
}
"""Who works on several parts at once, and what says from how many rows on that is worth it."""
ONE_OF_EACH = {case.policy.method.name: name for name, case in recorded_tables.CASES.items()}


def test_all_who_work_in_threads_are_known() -> None:
    source = Path(ri.__file__).parent
    users = {
        path.relative_to(source).with_suffix("").as_posix().replace("/", ".")
        for path in source.rglob("*.py")
        if "from reissue.arrays.cores import" in path.read_text() and path.parent.name != "arrays"
    }
    # Of these the parts are the same for any number of threads.
    assert users == {
        *WORTH_IT,
        "attacks.tracking.tracking",
        "comparing.compare_methods",
        "comparing.crew",
        "parts.local_engine",
        "reasoning.alternatives.record_flight",
        "reasoning.alternatives.set_histories",
        "tables.frames",
        "utility.analysing.analysis",
        "utility.analysing.sets_asked",
        "utility.queries",
    }


@pytest.mark.parametrize("cores", [1, 2, 5])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_number_of_cores_does_not_show(
    method: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, least in WORTH_IT.items():
        if least is not None:
            monkeypatch.setattr(f"reissue.{module}.{least}", 1)
    monkeypatch.setattr(pl, "thread_pool_size", lambda: cores)
    name = ONE_OF_EACH[method]
    assert recorded_tables.computed(name, tmp_path / "series") == RECORDED[name]


def test_how_ids_are_kept_does_not_show(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("ab" * 32 + "\n")
    (tmp_path / "key").chmod(0o600)
    name = "MInvariance generalised"
    case = recorded_tables.CASES[name]
    people = ri.Ids("hashed", str(tmp_path / "key"))
    hashed = ri.Policy(case.policy.schema, case.policy.method, people=people)
    found = list(recorded_tables.Case(hashed, case.given).releases(tmp_path / "series"))
    assert [one["public"] for one in found] == [one["public"] for one in RECORDED[name]]


def test_hashes_see_names_types_values_and_order() -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    others = [
        frame.rename({"a": "c"}),
        frame.cast({"a": pl.Int32}),
        frame.select("b", "a"),
        frame.reverse(),
        frame.with_columns(b=pl.lit("x")),
        frame.with_columns(pl.col("b").fill_null("")),
        frame.head(1),
    ]
    assert len({canonical_hash(one) for one in [frame, *others]}) == 8
    assert canonical_hash(frame.rechunk()) == canonical_hash(pl.concat([frame.head(1), frame.tail(1)]))
