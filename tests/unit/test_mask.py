"""Mask: what Algorithm 1 says of its output, what was decided beyond it, and the setting that restores 1/l."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from math import comb, prod
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import Infeasible, ParameterError, PolicyError
from reissue.methods.partition.mask import Mask
from reissue.model.showing import shown
from reissue.model.snapshot import Delta, Snapshot
from reissue.publishing.series import draft
from reissue.tables.coding import code_table

LABELS = ("HIV", "cancer", "flu", "cold")
WEIGHTS = (0.15, 0.15, 0.4, 0.3)
SMALL = ri.Schema(
    "id", {"age": ri.Numeric(low=0, high=9)}, {"disease": ri.Categorical(values=("HIV", "none"))}, protect=[["HIV"]]
)
NOBODY = np.empty(0, dtype=np.int64)
NOTHING = Delta(NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, 0)


def schema(*protect: list[str], **more: Any) -> ri.Schema:
    return ri.Schema(
        person="id",
        quasi={"age": ri.Numeric(), "zip": ri.Numeric()},
        sensitive={"disease": ri.Categorical(values=LABELS)},
        protect=protect or (["HIV"],),
        **more,
    )


def table(rng: np.random.Generator, rows: int, weights: tuple[float, ...] = WEIGHTS) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": np.arange(rows),
            "age": rng.integers(0, 12, rows),
            "zip": rng.integers(0, 6, rows),
            "disease": rng.choice(LABELS, rows, p=weights),
        }
    )


def grouped(frame: pl.DataFrame, method: Mask, of: ri.Schema, seed: int = 0) -> tuple[Snapshot, Any]:
    snapshot = code_table(frame, of).snapshot
    grouping, remembered = method.group(snapshot, NOTHING, {}, np.random.default_rng(seed))
    assert remembered == {}
    return snapshot, grouping


def counts(group: np.ndarray, inside: np.ndarray, count: int) -> np.ndarray:
    return np.bincount(group[inside], minlength=count)


@pytest.mark.parametrize("draw", ["reference", "binomial"])
@pytest.mark.parametrize("protect", [(["HIV"],), (["HIV", "cancer"],), (["HIV"], ["cancer"])])
def test_what_the_algorithm_says_of_its_output(protect: tuple[list[str], ...], draw: Any) -> None:
    repaired = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        k, l = int(rng.integers(2, 6)), int(rng.integers(2, 4))  # noqa: E741
        frame = table(rng, int(rng.integers(50, 120)), (0.3, 0.1, 0.4, 0.2) if len(protect[0]) == 1 else WEIGHTS)
        snapshot, grouping = grouped(frame, Mask(k, l, draw), schema(*protect), seed)
        before, sizes = snapshot.values.codes, grouping.sizes()
        after = shown(snapshot, grouping)[0].values.codes
        assert sizes.min() >= k
        touched = np.zeros(grouping.count, dtype=bool)
        for values in protect:
            members = [LABELS.index(value) for value in values]
            held = counts(grouping.group, np.isin(before, members), grouping.count)
            shows = counts(grouping.group, np.isin(after, members), grouping.count)
            violating = held * l > sizes
            assert (shows * l <= sizes).all()
            assert (shows[~violating] == held[~violating]).all()
            touched |= violating
            repaired += int(violating.sum())
            if draw == "binomial":
                assert (shows[violating] * l < sizes[violating]).all()
                continue
            shares = sorted(
                (Fraction(int(h), int(n)) for h, n in zip(held[~violating], sizes[~violating], strict=True)),
                reverse=True,
            )
            reference = set(shares[: (l - 1) * int(violating.sum())])
            for x, n in zip(shows[violating], sizes[violating], strict=True):
                assert int(x) in {int(share * int(n)) for share in reference}
        changed = np.flatnonzero(before != after)
        assert touched[grouping.group[changed]].all()
        everything = {value for values in protect for value in values}
        assert all(LABELS[code] in everything for code in before[changed])
        assert not any(LABELS[code] in everything for code in after[changed])
    assert repaired > 100


def test_groups_do_not_depend_on_the_sensitive_values() -> None:
    rng = np.random.default_rng(5)
    frame = table(rng, 200)
    _, one = grouped(frame, Mask(5, 2), schema())
    _, two = grouped(frame.with_columns(pl.col("disease").shuffle(seed=1)), Mask(5, 2), schema())
    assert np.array_equal(one.group, two.group)


def test_the_order_of_rows_shows_nowhere() -> None:
    frame = table(np.random.default_rng(6), 120)
    order = np.random.default_rng(7).permutation(120)
    policy = ri.Policy(schema(), Mask(4, 3))
    tables = [draft(one, policy, seed=3).tables["table"] for one in (frame, frame[order])]
    assert tables[0].equals(tables[1])


def test_who_is_replaced_is_drawn_evenly_and_by_what_follows_the_table() -> None:
    """One group of eight, six of them protected: each of the six loses the value equally often."""
    frame = pl.DataFrame(
        {
            "id": np.arange(16),
            "age": [0] * 8 + [9] * 8,
            "zip": [0] * 16,
            "disease": ["HIV"] * 6 + ["flu"] * 2 + ["HIV"] * 2 + ["flu"] * 2 + ["cold"] * 4,
        }
    )
    snapshot = code_table(frame, schema()).snapshot
    lost, instead = np.zeros(16), Counter[str]()
    draws = 200
    for seed in range(draws):
        grouping, _ = Mask(8, 2).group(snapshot, NOTHING, {}, np.random.default_rng(seed))
        assert grouping.changed is not None
        assert len(grouping.changed) == 4  # the other group's share is 1/4: two of eight are left
        lost[grouping.changed.rows] += 1
        instead.update(LABELS[code] for code in grouping.changed.codes)
    error = (draws * (4 / 6) * (2 / 6)) ** 0.5
    assert (np.abs(lost[:6] - draws * 4 / 6) < 5 * error).all()
    assert not lost[6:].any()
    assert set(instead) == {"flu", "cold"}
    assert abs(instead["flu"] - 4 * draws / 2) < 5 * (4 * draws / 4) ** 0.5


def test_too_small_a_reference_set_is_said_and_none_is_refused() -> None:
    few = pl.DataFrame(
        {"id": np.arange(6), "age": [0, 0, 5, 5, 9, 9], "zip": [0] * 6, "disease": ["HIV"] * 2 + ["flu"] * 4}
    )
    more = few.with_columns(disease=pl.Series(["HIV", "HIV", "HIV", "HIV", "flu", "flu"]))
    assert not any("disguise" in note for note in grouped(few, Mask(2, 3), schema())[1].notes)
    note = grouped(more, Mask(2, 3), schema())[1].notes[0]
    assert note.startswith("2 groups repaired, and only 1 other group to disguise them, where 4 are wanted")
    none = more.with_columns(disease=pl.Series(["HIV", "flu"] * 3))
    with pytest.raises(Infeasible, match="All 3 groups must be repaired"):
        grouped(none, Mask(2, 3), schema())
    _, mended = grouped(none, Mask(2, 3, "binomial"), schema())
    assert mended.changed is not None
    assert len(mended.changed) == 3
    every = schema(list(LABELS))
    with pytest.raises(Infeasible, match="there is nothing to put in place"):
        grouped(more, Mask(2, 3, "binomial"), every)


def test_rare_values_are_warned_of() -> None:
    rng = np.random.default_rng(12)
    labels = (*LABELS, *(f"rare {number}" for number in range(40)))
    often = schema()
    rare = ri.Schema("id", often.quasi, {"disease": ri.Categorical(values=labels)}, protect=[["HIV"]])
    frame = table(rng, 400, (0.3, 0.2, 0.3, 0.2))
    other = frame.with_columns(
        pl.when(pl.col("disease") == "HIV").then("disease").otherwise(pl.Series(rng.choice(labels[4:], 400)))
    )
    assert not any("shared by fewer" in note for note in grouped(frame, Mask(4, 3), often)[1].notes)
    (note,) = grouped(other, Mask(4, 3), rare)[1].notes[-1:]
    assert note.startswith("100% of the values outside the protected sets are shared by fewer than 20 people")


def test_sets_that_overlap_are_both_kept() -> None:
    frame = table(np.random.default_rng(8), 80, (0.15, 0.25, 0.1, 0.5))
    snapshot, grouping = grouped(frame, Mask(5, 2), schema(["HIV", "cancer"], ["cancer", "flu"]))
    after = shown(snapshot, grouping)[0].values.codes
    for members in ([0, 1], [1, 2]):
        assert (counts(grouping.group, np.isin(after, members), grouping.count) * 2 <= grouping.sizes()).all()


# The setting that restores 1/l


def weights(n: int, l: int) -> list[Fraction]:  # noqa: E741
    """What a violating group of n shows, by the formula in the docstring."""
    each = [
        comb(n, y) * Fraction(1, l) ** y * (1 - Fraction(1, l)) ** (n - y) * (Fraction(n, l) - y)
        for y in range(n)
        if y * l < n
    ]
    return [weight / sum(each) for weight in each]


@pytest.mark.parametrize("l", [2, 3, 5])
def test_nobody_who_knows_mask_is_more_than_one_in_l_sure(l: int) -> None:  # noqa: E741
    """For every size, every count shown, and every probability beforehand of at most 1/l: exactly."""
    for n in range(1, 16):
        drawn = weights(n, l)
        for before in (Fraction(1, l), Fraction(9, 10 * l), Fraction(1, 2 * l), Fraction(1, 40)):
            prior = [comb(n, x) * before**x * (1 - before) ** (n - x) for x in range(n + 1)]
            repaired = [x for x in range(n + 1) if x * l > n]
            for y in range(n // l + 1):
                often = drawn[y] if y < len(drawn) else Fraction(0)
                likely = prior[y] + often * sum(prior[x] for x in repaired)
                mean = (prior[y] * y + often * sum(prior[x] * x for x in repaired)) / likely
                assert mean / n <= Fraction(1, l)


def test_counts_are_drawn_by_the_formula() -> None:
    rng = np.random.default_rng(9)
    for n, l in ((4, 2), (7, 3), (9, 2), (3, 4)):  # noqa: E741
        draws = 1500
        found = Counter(Mask(2, l, "binomial")._binomial(n, rng) for _ in range(draws))
        for y, weight in enumerate(weights(n, l)):
            p = float(weight)
            assert abs(found[y] - draws * p) <= 5 * (draws * p * (1 - p)) ** 0.5
        assert sum(found.values()) == draws
        assert max(found) < n / l


# Parameters and policies


@pytest.mark.parametrize(("k", "l", "draw"), [(0, 2, "reference"), (2, 1, "reference"), (2, 2.5, "reference")])
def test_parameters_out_of_range(k: Any, l: Any, draw: Any) -> None:  # noqa: E741
    with pytest.raises(ParameterError, match="must be a whole number of at least"):
        Mask(k, l, draw)
    with pytest.raises(ParameterError, match="'reference' or 'binomial'"):
        Mask(2, 2, "none")  # type: ignore[arg-type]


def test_without_protected_sets_there_is_nothing_to_do() -> None:
    bare = ri.Schema("id", {"age": ri.Numeric()}, "disease")
    with pytest.raises(PolicyError) as refused:
        ri.Policy(bare, Mask(2, 2))
    assert any("declare them in 'protect'" in problem for problem in refused.value.problems)


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
def test_published_audited_and_kept(tmp_path: Any, form: Any) -> None:
    rng = np.random.default_rng(11)
    frame = table(rng, 240, (0.2, 0.3, 0.3, 0.2))
    policy = ri.Policy(schema(), Mask(4, 3), form=form)
    with ri.open(tmp_path / "series", policy) as series:
        release = series.publish(frame, seed=4)
        replaced = series.private.replaced(1)
        assert release.summary["replaced"] == replaced.height > 0
        assert set(replaced["value"]) == {"HIV"}
        true = dict(zip(frame["id"], frame["disease"], strict=True))
        assert all(true[row["person"]] == row["value"] for row in replaced.to_dicts())
        # What is public and what is kept agree: values as published, never marked.
        public = release.tables["table" if form == "generalised" else "sensitive"]
        weight = pl.len() if form == "generalised" else pl.col("count").sum()
        told = dict(public.group_by("disease").agg(weight.alias("rows")).iter_rows())
        expected = Counter(true.values())
        expected.subtract(replaced["value"].to_list())
        expected.update(replaced["published"].to_list())
        assert {str(label): rows for label, rows in told.items()} == dict(+expected)
        view = series.published()
        assert {
            view.values[value]: int(view.releases[0].counts[view.releases[0].values == value].sum())
            for value in np.unique(view.releases[0].values)
        } == dict(+expected)
        assert "replaced" not in release.manifest
        assert [warning for warning in release.manifest["warnings"] if "replaced" in warning]
        report = series.audit()
        assert report.judgements["Minimality"].status == "within"
        assert report.passed
        usefulness = series.utility(1, workload=ri.Workload(1, 0.2, count=50, seed=1))
        assert usefulness.replaced == replaced.height
        assert usefulness.query_error is not None
    numbers = [row["person"] for row in replaced.to_dicts()]
    assert all(one < two for one, two in pairwise(numbers))


def test_queries_are_held_against_true_values(tmp_path: Any) -> None:
    """All are in one class: the table says how many are protected, the release what it shows."""
    frame = pl.DataFrame(
        {
            "id": np.arange(12),
            "age": [0] * 6 + [1] * 6,
            "zip": [0] * 12,
            "disease": ["HIV"] * 5 + ["flu"] + ["HIV"] + ["cold"] * 5,
        }
    )
    policy = ri.Policy(schema(), Mask(6, 2), form="anatomised")
    with ri.open(tmp_path / "series", policy) as series:
        series.publish(frame, seed=1)
        workload = ri.Workload(1, 0.25, count=40, seed=2, sensitive_values=1)
        error = series.utility(1, workload=workload).query_error
    assert error is not None
    # Six of twelve have HIV; one in each group of six is shown.
    asked = error.queries.filter(pl.col("actual") == 6)
    assert asked.height
    assert set(asked["estimated"].round(9)) == {2.0}


TREE = ri.Hierarchy.from_nested({"*": {"low": ["1", "2", "3"], "high": {"upper": ["4", "5"], "top": ["6"]}}})


def test_the_minimality_attack_finds_nothing() -> None:
    """In every group of several classes one is too small by k alone, so that nothing is excluded."""
    generalised = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rows, k, l = int(rng.integers(20, 70)), int(rng.integers(2, 7)), int(rng.integers(2, 4))  # noqa: E741
        frame = table(rng, rows, (0.12, 0.18, 0.4, 0.3)).with_columns(
            level=pl.Series(rng.choice(TREE.leaves, rows)), sex=pl.Series(rng.choice(["f", "m"], rows))
        )
        kinds = {"level": TREE, "sex": ri.Categorical(), **({"age": ri.Numeric()} if seed % 2 else {})}
        drop = [name for name in ("age", "zip") if name not in kinds]
        of = ri.Schema("id", kinds, {"disease": ri.Categorical(values=LABELS)}, drop=drop, protect=[["HIV"]])
        made = draft(
            frame, ri.Policy(of, Mask(k, l, "binomial")), seed=seed, allow=["replaced"], reason="so it is here"
        )
        found = ri.attacks.Minimality(l=l, k=k, protect=[["HIV"]]).run(made.published())
        assert not found.posteriors.height
        assert found.judge(ri.attacks.Limits(credibility=Fraction(1, l))).status == "within"
        classes = made.recoded.groups.classes
        assert classes is not None
        starts = made.recoded.groups.member_starts
        parts = [set(classes[one:two].tolist()) for one, two in pairwise(starts.tolist())]
        generalised += sum(len(part) > 1 for part in parts)
    assert generalised > 50


def test_where_no_protected_value_is_left_nothing_is_told(tmp_path: Any) -> None:
    """Both of the protected are replaced; that everybody else has the same value is nobody's concern."""
    frame = pl.DataFrame({"id": range(7), "age": [1, 1, 8, 8, 8, 8, 8], "disease": ["HIV"] * 2 + ["none"] * 5})
    with ri.open(tmp_path / "series", ri.Policy(SMALL, Mask(2, 2))) as series:
        assert series.publish(frame, seed=1).summary["replaced"] == 2
        report = series.audit()
        assert (report.passed, report.judgements["Minimality"].status) == (True, "within")
        assert report.notes[0].startswith("In release 1 some values may have been replaced by others")
        # What is known of people beforehand the argument does not use, so that it proves nothing then.
        known = ri.Knowledge(compromised={int(series.published().releases[0].members[0]): "none"})
        report = series.audit(known)
        assert (report.passed, report.judgements["Minimality"].status) == (False, "undecided")


# Somebody who knows Mask


def known_mask(diseases: list[str], method: Mask, *, total: int | None = None, seeds: int = 8) -> pl.DataFrame:
    """What somebody finds who runs Mask on every table of pairs at the same age; told the total, or not."""
    people = len(diseases)
    frame = pl.DataFrame({"id": np.arange(people), "age": np.arange(people) // 2 * 4, "disease": diseases})
    made = draft(frame, ri.Policy(SMALL, method), seed=1)
    numbers = dict(zip(made.new_people["id"], made.new_people["number"], strict=True))
    registry = frame.select(pl.col("id").replace_strict(numbers).cast(pl.Int64), "age")

    def admit(snapshot: Snapshot) -> None:
        held = int((snapshot.values.codes == 0).sum())
        if held * method.l > people or total not in (None, held):
            raise Infeasible("such a table is refused, or has another total")

    attack = ri.attacks.Mechanism(method, registry, SMALL, admit=admit, seeds=seeds)
    found = attack.run(made.published())
    return found.posteriors.filter(pl.col("value") == "HIV").sort("person")


def test_theorem_3_fails_against_somebody_who_knows_mask() -> None:
    """l = 2: a repaired pair and one that needs none both show one of two. One in two was repaired: 1/2 + 1/2 * 1/2."""
    diseases = ["HIV", "HIV", "HIV", "none", "none", "none"]
    told = known_mask(diseases, Mask(2, 2), total=3)["probability"].to_list()
    assert sorted(told)[-4:] == pytest.approx([0.75] * 4)
    # Who does not know the total takes it for possible that nothing was repaired: (4/2 + 2 + 2/2) / 8.
    untold = known_mask(diseases, Mask(2, 2))["probability"].to_list()
    assert sorted(untold)[-4:] == pytest.approx([0.625] * 4)


def test_the_other_draw_leaves_nobody_surer_than_one_in_l() -> None:
    for diseases in (["HIV", "HIV", "none", "none"], ["HIV", "none", "none", "none"]):
        found = known_mask(diseases, Mask(2, 2, "binomial"), seeds=24)
        assert (found["probability"] <= 0.5 + 4 * found["standard_error"].fill_null(0) + 1e-12).all()


def surest(others: int, before: Fraction) -> Fraction:
    """How sure of HIV anybody is of three pairs, over every table and every draw, where other values are alike."""
    likely = {0: before, **dict.fromkeys(range(1, others + 1), (1 - before) / others)}
    told: dict[tuple[tuple[int, ...], ...], list[Fraction]] = {}
    for table in product(likely, repeat=6):
        spare = Counter(value for value in table if value)
        if table.count(0) * 2 > 6:
            continue  # refused
        weight = prod((likely[value] for value in table), start=Fraction(1))
        pairs = [
            [((one, two), Fraction(spare[one] * spare[two], spare.total() ** 2)) for one in spare for two in spare]
            if pair == (0, 0)
            else [(pair, Fraction(1))]
            for pair in (table[at : at + 2] for at in (0, 2, 4))
        ]
        for outcome in product(*pairs):
            seen = tuple(tuple(sorted(pair)) for pair, _ in outcome)
            chance = weight * prod((drawn for _, drawn in outcome), start=Fraction(1))
            every = told.setdefault(seen, [Fraction(0), Fraction(0)])
            every[0] += chance
            every[1] += chance * Fraction(table[:2].count(0), 2)
    return max(held / chance for chance, held in told.values())


def test_the_promise_is_about_the_set_and_not_about_which_other_values_are_put_in_place() -> None:
    """With one other value there is nothing else to see; with two, of six people, the values themselves tell."""
    assert surest(1, Fraction(1, 2)) == Fraction(1, 2)
    assert surest(2, Fraction(1, 2)) == Fraction(16, 25)
    assert surest(2, Fraction(1, 4)) == Fraction(1, 2)
