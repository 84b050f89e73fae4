"""The demo's figures are those of its tables and public files, and its page says them."""

from __future__ import annotations

import importlib.util
import re
import xml.dom.minidom
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue.demonstrating import demo_pictures as pictures
from reissue.demonstrating.demo_page import demo_page, demo_picture
from reissue.demonstrating.demo_run import BANDS, Demo, Exposure, looked_at, policies, run_demo
from reissue.samples.hospital import DIAGNOSES, SHARES, hospital

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return run_demo(tmp_path_factory.mktemp("demo") / "hospital", months=3, patients=240)


@pytest.fixture(scope="module")
def months(demo: Demo) -> list[pl.DataFrame]:
    return [pl.read_csv(Path(demo.folder) / f"month-{month}.csv") for month in (1, 2, 3)]


def groups(demo: Demo, way: int) -> Iterator[dict[str, tuple[str, ...]]]:
    """For each release, which diagnoses everybody is shown among: groups joined with the public rows by hand."""
    with ri.open(Path(demo.folder) / demo.ways[way].folder) as series:
        for release in series.releases:
            own = series.private.members(release.number)
            if "alternatives" in own.columns:
                yield dict(own.select("person", "alternatives").iter_rows())
                continue
            rows = release.tables["table"].group_by("group").agg("diagnosis")
            joined = own.drop_nulls("person").join(rows, on="group")
            yield dict(joined.select("person", "diagnosis").iter_rows())


def test_the_patient_is_given_away_by_all_months_and_by_none_alone(demo: Demo, months: list[pl.DataFrame]) -> None:
    patient = demo.patient
    assert patient is not None
    by_hand = [shown[patient.patient] for shown in groups(demo, 0)]
    assert len(by_hand) == len(patient.ways[0]) == 3
    left = set(by_hand[0])
    for shown, stop in zip(by_hand, patient.ways[0], strict=True):
        left &= set(shown)
        assert len(set(shown)) > 1, "no release alone"
        assert {value: shown.count(value) for value in set(shown)} == dict(stop.diagnoses)
        assert set(stop.left) == left
        assert stop.rows == len(shown)
        assert stop.age[0] <= patient.age <= stop.age[1] and stop.zip[0] <= patient.zip <= stop.zip[1]
    truth = months[0].row(by_predicate=pl.col("patient") == patient.patient, named=True)
    assert left == {patient.diagnosis} == {truth["diagnosis"]}
    assert (patient.age, patient.zip, patient.sex) == (truth["age"], truth["zip"], truth["sex"])


@pytest.mark.parametrize("way", [1, 2])
def test_the_methods_for_series_leave_the_patient_all_they_had(demo: Demo, way: int) -> None:
    patient = demo.patient
    assert patient is not None
    for shown, stop in zip(groups(demo, way), patient.ways[way], strict=True):
        assert set(stop.left) == set(shown[patient.patient])
        assert len(stop.left) >= 4 and patient.diagnosis in stop.left
    assert len({stop.left for stop in patient.ways[way]}) == 1


def test_who_is_certain_is_at_least_who_crossing_out_leaves_one(demo: Demo) -> None:
    left: dict[str, set[str]] = {}
    for shown, found in zip(groups(demo, 0), demo.ways[0].exposure, strict=True):
        for person, values in shown.items():
            left[person] = left.get(person, set(values)) & set(values)
        one = sum(len(values) == 1 for values in left.values())
        assert one <= found.certain <= found.exposed <= found.patients == len(left)
        assert not found.proven
    assert demo.ways[0].exposure[-1].certain > 0
    for way in demo.ways[1:]:
        assert all(found.proven and found.exposed == found.certain == 0 for found in way.exposure)


def test_counts_and_shares_are_those_of_the_tables(demo: Demo, months: list[pl.DataFrame]) -> None:
    came = set(months[1]["patient"]) - set(months[0]["patient"])
    assert (demo.patients, demo.coming) == (240, len(came))
    last = months[-1]
    assert demo.diagnosis in DIAGNOSES
    ends = (0, *BANDS, 200)
    for low, end, share in zip(ends, ends[1:], demo.truth, strict=False):
        band = last.filter(pl.col("age") >= low, pl.col("age") < end)
        assert share == pytest.approx((band["diagnosis"] == demo.diagnosis).mean())
    for way in demo.ways:
        tables = [
            pl.read_parquet(path) for path in sorted((Path(demo.folder) / way.folder / "public").rglob("table.parquet"))
        ]
        assert way.rows == sum(table.height for table in tables)
        assert way.counterfeits == way.rows + way.withheld - 3 * 240
        assert (way.age_span == 0) == ("age" in tables[-1].columns)
    mondrian, m_invariance, alternatives = demo.ways
    assert m_invariance.counterfeits > 0, "240 patients are few"
    assert [way.interval for way in demo.ways] == ["certain", "none", "95 %"]
    for share, true in zip(mondrian.shares, demo.truth, strict=True):
        assert share.low is not None and share.high is not None
        assert share.low - 1e-9 <= true <= share.high + 1e-9, "bounds that are certain hold the truth"
    assert all(share.low is None for share in m_invariance.shares)
    assert all(share.low is not None for share in alternatives.shares)


def test_the_page_tells_them_and_escapes_what_it_tells(demo: Demo) -> None:
    page = demo_page(replace(demo, folder="<b>here</b>"))
    assert "<b>here" not in page and "&lt;b&gt;here" in page
    end = demo.ways[0].exposure[-1]
    text = re.sub(r"<[^>]+>", "", page)
    assert f"the diagnoses of {end.certain:,} of {end.patients:,} patients are certain" in text
    assert demo.patient is not None and demo.patient.patient in text
    assert "{{" not in page and "None" not in text
    assert page.count("<svg viewBox") == 9


def test_where_nobody_is_exposed_it_says_so(demo: Demo) -> None:
    nobody = tuple(replace(found, certain=0, exposed=0) for found in demo.ways[0].exposure)
    safe = replace(demo, patient=None, ways=(replace(demo.ways[0], exposure=nobody), *demo.ways[1:]))
    text = re.sub(r"<[^>]+>", "", demo_page(safe))
    assert "nobody’s diagnosis is certain" in text
    assert "Crossing out alone gives nobody away" in text
    xml.dom.minidom.parseString(demo_picture(safe))


@pytest.mark.parametrize(
    ("certain", "exposed", "squares"), [(0, 0, (0, 0)), (1, 1, (1, 1)), (999, 1000, (99, 100)), (500, 746, (50, 75))]
)
def test_a_square_is_a_hundredth(certain: int, exposed: int, squares: tuple[int, int]) -> None:
    found = Exposure(1, 1000, certain, exposed, proven=False)
    drawn = {"certain": 0.0, "likely": 0.0}
    for shape in pictures._squares(found, 0, 0):
        if isinstance(shape, pictures.Block) and shape.kind in drawn:
            drawn[shape.kind] += shape.width * shape.height / pictures.SQUARE**2
    assert (round(drawn["certain"]), round(drawn["likely"])) == squares


def test_months_that_are_looked_at() -> None:
    assert looked_at(2) == (1, 2)
    assert looked_at(4) == (1, 2, 3, 4)
    for months in range(2, 25):
        looks = looked_at(months)
        assert looks[0] == 1 and looks[-1] == months and len(looks) == min(months, 4)


def test_shares_from_outside_are_those_of_the_hospital() -> None:
    assert sum(SHARES.values()) == pytest.approx(1)
    counted = dict(next(hospital(1, patients=200_000, seed=3))["diagnosis"].value_counts(normalize=True).iter_rows())
    assert counted.keys() == SHARES.keys() == DIAGNOSES.keys()
    assert all(abs(counted[name] - share) < 0.004 for name, share in SHARES.items())


def test_one_way_looks_at_single_releases_and_two_at_the_series() -> None:
    assert [policy.method.protects_series for policy in policies().values()] == [False, True, True]


def test_the_picture_in_the_readme_is_what_the_demo_draws() -> None:
    path = ROOT / "docs" / "generate_demo_picture.py"
    spec = importlib.util.spec_from_file_location("generate_demo_picture", path)
    assert spec is not None and spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    drawn = generator.drawn()
    assert drawn == generator.PICTURE.read_text(encoding="utf-8"), "run docs/generate_demo_picture.py"
    xml.dom.minidom.parseString(drawn)
    assert len(drawn) < 150_000
    assert "docs/img/demo.svg" in (ROOT / "README.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    certain, of = re.search(r"after four months ([0-9,]+) of ([0-9,]+)\s+diagnoses are certain", readme).groups()  # type: ignore[union-attr]
    assert f">{certain}</text>" in drawn and f">of {of}</text>" in drawn, "the words beside it say the same"
