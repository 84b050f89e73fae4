"""The study of He et al.: what is counted, asked and timed is what the library publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from reissue_studies import stopwatch
from reissue_studies.he import experiments as he
from reissue_studies.he import setting as he_setting
from reissue_studies.he.experiments import FULL, Run, Setting
from reissue_studies.he.figures import FIGURES

import reissue as ri
from reissue.errors import ParameterError
from reissue.model.grouping import Counterfeits
from reissue.publishing.rehearsal import Rehearsal, everyone
from reissue.samples.census import OLDEST
from reissue.utility import query_error

TINY = Setting(rows=1_200, initial=400, turnover=80, releases=4, m=4, e=(2, 3), seed=7)


def steps_of(measure: Callable[..., pl.DataFrame], *arguments: object, **options: object) -> list[str]:
    seen: list[str] = []
    measure(*arguments, progress=seen.append, **options)
    return seen


def test_counterfeits_are_those_that_a_series_on_disk_holds(tmp_path: Path) -> None:
    setting = replace(TINY, releases=3, e=(3,))
    streams = (None, setting.largest_skew)
    found = he.counterfeits(setting, streams)
    assert found["counterfeits"].sum() > 0
    for at, run in enumerate(he.counterfeit_runs(setting, streams)):
        expected = []
        policy = ri.Policy(setting.schema, run.method, form="anatomised")
        with ri.open(tmp_path / str(at), policy) as series:
            for number, table in enumerate(setting.states(run.skew), start=1):
                release = series.publish(
                    table, seed=setting.release_seed(number), allow=["counterfeit"], reason="they are counted"
                )
                made = series.private.members(number)["counterfeit"].is_not_null().sum()
                assert release.tables["quasi"].height == setting.initial + made
                expected.append((run.name, 4, run.e, run.skew, number, setting.initial, made))
        assert found.slice(at * 3, 3).rows() == expected


def test_every_method_publishes_the_same_tables() -> None:
    for skew in (None, TINY.largest_skew):
        one, other = list(TINY.states(skew)), list(TINY.states(skew))
        assert len(one) == 4
        assert all(left.equals(right) for left, right in zip(one, other, strict=True))
        assert not any(left.equals(right) for left, right in zip(one[1:], one[:-1], strict=True))
    assert not next(TINY.states(None)).equals(next(replace(TINY, seed=8).states(None)))


def drafts(run: Run, tables: Iterable[pl.DataFrame]) -> list[ri.Draft]:
    series = Rehearsal(ri.Policy(TINY.schema, run.method, form="anatomised"))
    return [series.publish(table, seed=TINY.release_seed(n)) for n, table in enumerate(tables, start=1)]


def test_merged_buckets_answer_queries_as_split_ones_do() -> None:
    # Proposition 1 of the paper, first where nothing is made up.
    first = replace(TINY, releases=1, m=2, e=(2,))
    assert he.counterfeits(first)["counterfeits"].to_list() == [0, 0]
    for setting in (first, TINY):
        found = he.query_errors(setting, queries=200, selectivities=(0.005, 0.01))
        split = found.filter(pl.col("method") == "m-invariance")
        merged = found.filter(pl.col("method") == "m-invariance, merged")
        assert split.height == merged.height == 2
        assert split["median"].min() > 0.01  # type: ignore[operator]
        for column in ("median", "mean"):
            assert merged[column].to_list() == pytest.approx(split[column].to_list(), rel=1e-9)


def test_split_and_merged_groups_do_differ() -> None:
    split, merged = (drafts(run, [next(TINY.states(None))])[0] for run in he.query_runs(TINY)[:2])
    assert split.grouping.count > merged.grouping.count


def test_all_methods_are_asked_the_same_queries() -> None:
    workload = ri.Workload(dimensions=4, selectivity=0.01, count=300, seed=1, sensitive_values=1)
    last = [drafts(run, TINY.states(None))[-1] for run in he.query_runs(TINY)]
    made = [0 if draft.counterfeits is None else draft.counterfeits.height for draft in last]
    assert len({*made}) > 1
    actual = [he.asked(draft, workload).queries["actual"].to_list() for draft in last]
    assert all(counts == actual[0] for counts in actual)


def test_an_age_that_only_a_counterfeit_has_does_not_shift_the_queries() -> None:
    workload = ri.Workload(dimensions=4, selectivity=0.01, count=300, seed=1, sensitive_values=1)
    table = next(TINY.states(None)).with_columns(pl.col("age").clip(20, 70))
    (draft,) = drafts(he.query_runs(TINY)[1], [table])
    row = table.head(1).drop("person").with_columns(age=pl.lit(OLDEST, dtype=table.schema["age"]))
    made = Counterfeits(np.array([1]), np.array([0], dtype=np.int32), row)
    with_made = replace(draft, grouping=replace(draft.grouping, counterfeits=made))

    def as_coded(one: ri.Draft) -> list[int]:
        snapshot, grouping = everyone(one)
        flags = snapshot.people < 0
        error = query_error(snapshot.quasi, snapshot.values, grouping, workload, "anatomised", counterfeit=flags)
        return error.queries["actual"].to_list()

    without = replace(draft, grouping=replace(draft.grouping, counterfeits=None))
    assert as_coded(with_made) != as_coded(without)
    assert he.asked(with_made, workload).queries["actual"].equals(he.asked(without, workload).queries["actual"])


def test_the_actual_counts_are_those_of_the_table() -> None:
    # One value, everything else admitted: the only counts there can be are those of the values.
    table = next(TINY.states(None))
    (draft,) = drafts(he.query_runs(TINY)[0], [table])
    workload = ri.Workload(dimensions=4, selectivity=0.02, count=200, seed=1, sensitive_values=1)
    found = he.asked(draft, workload).queries
    counts = set(table["occupation"].value_counts()["count"].to_list())
    assert set(found["actual"].to_list()) <= counts
    assert len(set(found["actual"].to_list())) > 5


def test_ratios_compare_within_the_same_stream_and_selectivity() -> None:
    skew = TINY.skews[-2]
    found = he.query_errors(TINY, (None, skew), queries=100, selectivities=(0.005, 0.01))
    assert found.height == 2 * 4 * 2
    for row in found.iter_rows(named=True):
        plain = [
            other
            for other in found.iter_rows(named=True)
            if other["method"] == "m-invariance"
            and (other["skew"], other["selectivity"]) == (row["skew"], row["selectivity"])
        ]
        assert len(plain) == 1
        assert row["median_ratio"] == pytest.approx(row["median"] / plain[0]["median"])
        assert row["mean_ratio"] == pytest.approx(row["mean"] / plain[0]["mean"])
        assert row["answered"] == 100
    assert found["skew"].to_list() == [None] * 8 + [skew] * 8


def test_largest_counts_and_times_add_up_by_hand() -> None:
    keys = {"method": ["a", "a", "b", "b"], "m": [4] * 4, "e": [None, None, 2, 2], "skew": [None, None, 1.0, 1.0]}
    schema = he_setting.RUN_COLUMNS
    counted = pl.DataFrame(keys, schema=schema).with_columns(
        release=pl.Series([1, 2, 1, 2]), people=pl.Series([100, 200, 100, 100]), counterfeits=pl.Series([6, 7, 9, 3])
    )
    assert he.largest_counts(counted).rows() == [("a", 4, None, None, 7, 0.06, 7), ("b", 4, 2, 1.0, 9, 0.09, 3)]
    stages = {name: pl.Series([1.0, 2.0, 4.0, 8.0]) for name in ("reading", "grouping", "recoding", "checking")}
    whole = {name: pl.Series([4.0, 8.0, 16.0, 32.0]) for name in ("drafting", "grouping_cpu", "drafting_cpu")}
    timed = pl.DataFrame(keys, schema=schema).with_columns(**stages, **whole)
    assert he.series_times(timed).rows() == [
        ("a", 4, None, None, 3.0, 3.0, 3.0, 3.0, 12.0, 12.0, 12.0),
        ("b", 4, 2, 1.0, 12.0, 12.0, 12.0, 12.0, 48.0, 48.0, 48.0),
    ]


def test_a_stage_lasts_until_the_next_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, processor = iter([10.0, 13.0, 20.0]), iter([1.0, 6.0, 7.5])
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(stopwatch.time, "process_time", lambda: next(processor))
    watch = stopwatch.Stopwatch()
    watch("reading")
    watch("grouping")
    assert watch.laps() == {"reading": (3.0, 5.0), "grouping": (7.0, 1.5)}


def test_times_cover_every_release_of_every_method() -> None:
    steps: list[str] = []
    found = he.times(TINY, m=(2, 3), e=(2, 3), progress=steps.append)
    assert len(steps) == 7 * 4
    expected = [("m-invariance", 2, None), ("m-invariance, merged", 2, None), ("e-equivalence", 2, 2)]
    expected += [("m-invariance", 3, None), ("m-invariance, merged", 3, None)]
    expected += [("e-equivalence", 3, 2), ("e-equivalence", 3, 3)]
    assert found.select("method", "m", "e").unique(maintain_order=True).rows() == expected
    assert found["release"].to_list() == [1, 2, 3, 4] * 7
    parts = found.select(pl.sum_horizontal("reading", "grouping", "recoding", "checking")).to_series()
    assert parts.to_list() == pytest.approx(found["drafting"].to_list())
    assert found.select(pl.min_horizontal("reading", "grouping", "recoding", "checking").min()).item() > 0


def test_progress_is_told_of_each_release_of_each_run() -> None:
    # m-invariance and two e: 3 runs for each stream; split too: 4.
    assert len(steps_of(he.query_errors, TINY, queries=10, selectivities=(0.02,))) == 4 * 4
    told = steps_of(he.counterfeits, TINY, (None, 0.0))
    assert len(told) == 2 * 3 * 4
    assert told[0] == "m-invariance, merged, m = 4, release 1"
    assert told[-1] == "e-equivalence, m = 4, e = 3, skew 0, release 4"


def test_figures_count_their_steps() -> None:
    # 7 skews in Figure 8, 2 streams in Figure 9; in Figure 10 m = 4, 6, 8, 10 allow 2, 3, 4, 5 values of e.
    steps = {number: figure.steps(TINY) for number, figure in FIGURES.items()}
    assert steps == {6: 3 * 4, 7: 3 * 4, 8: 7 * 3 * 4, 9: 2 * 4 * 4, 10: (4 * 2 + 2 + 3 + 4 + 5) * 4}


def test_the_papers_skews_at_the_papers_turnover() -> None:
    setting = Setting(rows=40_000, initial=20_000, turnover=20_000, releases=2)
    assert setting.skews[:-1] == (0, 3, 6, 9, 12, 15)
    assert setting.skews[-1] == pytest.approx(2 * 20_000 / (50 * 49))
    half = replace(setting, turnover=10_000)
    assert half.skews == pytest.approx([skew / 2 for skew in setting.skews])


def test_the_full_size_is_the_papers() -> None:
    assert (FULL.rows, FULL.initial, FULL.turnover, FULL.m, FULL.e) == (600_000, 200_000, 20_000, 10, (3, 5, 7))
    assert FULL.releases == 1 + (600_000 - 200_000) // 20_000


def test_salaries_are_sensitive_too() -> None:
    setting = replace(TINY, sensitive="salary", releases=2)
    assert setting.schema.sensitive == "salary"
    assert he.counterfeits(setting)["people"].to_list() == [400] * 6


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rows": 0}, "The 'rows' parameter of Setting must be a whole number of at least 1. Got 0 instead."),
        ({"m": 1}, "The 'm' parameter of Setting must be a whole number of at least 2. Got 1 instead."),
        ({"seed": -1}, "The 'seed' parameter of Setting must be None or a whole number of at least 0."),
        (
            {"e": (3, 11)},
            r"The 'e' parameter of Setting must be different whole numbers from 1 to m = 10. Got \(3, 11\)",
        ),
        ({"e": ()}, "The 'e' parameter of Setting must be different whole numbers"),
        ({"e": (3, 3)}, "The 'e' parameter of Setting must be different whole numbers"),
        ({"initial": 40_000}, "The 'initial' parameter of Setting must be at most 30000"),
        ({"turnover": 10_001, "releases": 1}, "The 'turnover' parameter of Setting must be at most 10000"),
        ({"releases": 22}, "The 'releases' parameter of Setting must be at most 21, until the pool is used up. Got 22"),
        ({"sensitive": "age"}, "The 'sensitive' parameter of Setting must be 'occupation' or 'salary'."),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Setting(**wrong)  # type: ignore[arg-type]


def test_all_problems_of_a_setting_are_told_at_once() -> None:
    with pytest.raises(ParameterError) as told:
        Setting(turnover=20_000, e=(11,), releases=3)
    assert len(told.value.problems) == 3
