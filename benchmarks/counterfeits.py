"""Can counterfeits be told from people, and what is left of 1/m for somebody who can?

Streams with the skew and the turnover of a hospital are published with the methods that make counterfeits, in the
anatomised form. Two questions are put to what is public:

*Recognising.* Each row is described by what an outsider sees of it: whether others have the same cells, how long a row
with these cells stays among these values, what else its group shows. A model learns on one series which rows are
counterfeits (anybody can publish a table of their own with the method) and is tried on another. AUC is the
probability that it finds a counterfeit likelier to be one than a person; 0.5 is guessing.

*Arguing why they were made.* A counterfeit is made where a value is lacking, so somebody takes the value of the group
that is the most frequent in the release to be wholly real. In how many groups that is so, and what it gives: the rows
of that value by the real people of the group, instead of 1/m.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from measuring import arguments, console, positive, save

import reissue as ri
from reissue.model.domain import COUNTERFEIT, GROUP, PERSON
from reissue.publishing import archive
from reissue.publishing.made_up import RECOGNITIONS, Recognition
from reissue.samples.census import census
from reissue.samples.hospital import hospital
from reissue.samples.streams import updates

Floats = npt.NDArray[np.float64]

DATA = Path(os.environ.get("REISSUE_DATA") or Path(__file__).parents[2] / "shared" / "data")
DIABETES = DATA / "diabetes130" / "diabetic_data.csv.gz"
TURNOVER = 0.2
BINS = 12


@dataclass(frozen=True)
class Stream:
    """A table that changes, and the roles of its columns."""

    schema: ri.Schema
    states: Callable[[int], Iterator[pl.DataFrame]]
    """The states for a seed."""
    m: int


def streams(rows: int, releases: int) -> dict[str, Stream]:
    """The invented hospital, the invented census, and patients with diabetes where the file is at hand."""
    numeric, labels = ri.Numeric(), ri.Categorical(new="accept")
    sick = ri.Schema(
        person="patient",
        quasi={"age": numeric, "zip": numeric, "sex": labels},
        sensitive={"diagnosis": ri.Categorical(new="accept")},
    )
    job = ri.Schema(
        person="person",
        quasi={"age": numeric, "gender": labels, "education": labels, "birthplace": labels},
        sensitive={"occupation": ri.Categorical(new="accept")},
    )
    turnover = round(TURNOVER * rows)

    def people(seed: int) -> Iterator[pl.DataFrame]:
        pool = census(rows + (releases - 1) * turnover, seed=seed)
        return updates(pool, initial=rows, turnover=turnover, releases=releases, seed=seed)

    found = {
        "hospital": Stream(sick, lambda seed: hospital(releases, patients=rows, seed=seed), 4),
        "census": Stream(job, people, 6),
    }
    if DIABETES.exists():
        found["diabetes"] = _diabetes(rows, releases, turnover)
    return found


def _diabetes(rows: int, releases: int, turnover: int) -> Stream:
    """First stays of patients, by the chapter of their first diagnosis."""
    code = pl.col("diag_1")
    number = code.cast(pl.Float64, strict=False)
    table = (
        pl.read_csv(DIABETES, null_values="?", infer_schema_length=0)
        .unique("patient_nbr", keep="first", maintain_order=True)
        .select(
            patient="patient_nbr",
            race=pl.col("race").fill_null("unknown"),
            gender="gender",
            age="age",
            days=pl.col("time_in_hospital").cast(pl.Int64),
            tests=pl.col("num_lab_procedures").cast(pl.Int64),
            diagnosis=pl.when(number.is_null()).then(code.str.slice(0, 1)).otherwise((number // 20).cast(pl.String)),
        )
        .drop_nulls()
    )
    numeric, labels = ri.Numeric(), ri.Categorical(new="accept")
    schema = ri.Schema(
        person="patient",
        quasi={"race": labels, "gender": labels, "age": labels, "days": numeric, "tests": numeric},
        sensitive={"diagnosis": ri.Categorical(new="accept")},
    )

    def states(seed: int) -> Iterator[pl.DataFrame]:
        size = rows + (releases - 1) * turnover
        pool = table.sample(size, seed=seed)
        return updates(pool, initial=rows, turnover=turnover, releases=releases, person="patient", seed=seed)

    return Stream(schema, states, 4)


def methods(m: int) -> dict[str, ri.methods.Method]:
    """The methods that make counterfeits."""
    return {
        "m-invariance, split": ri.MInvariance(m=m),
        "m-invariance, merged": ri.MInvariance(m=m, split=False),
        "e-equivalence, e = 2": ri.EEquivalence(m=m, e=2),
    }


@dataclass(frozen=True)
class Shown:
    """A published series, row by row, with the truth beside it."""

    rows: pl.DataFrame
    """release, group, cells of the row in one text, value (private), made (private)."""
    figures: Mapping[str, Any]
    """What audits of it say."""


def published(stream: Stream, method: ri.methods.Method, seed: int, *, judged: bool) -> Shown:
    """Publish a stream and read it back."""
    frames = []
    with tempfile.TemporaryDirectory() as folder:
        policy = ri.Policy(
            stream.schema, method, form="anatomised", checks=ri.Checks(counterfeit=1, few_groups=1, withheld=1)
        )
        with ri.open(Path(folder) / "series", policy) as series:
            for at, state in enumerate(stream.states(seed), start=1):
                series.publish(state, seed=1_000 * seed + at)
                people, made = archive.rows(series._ledger, at)
                frames.append(_rows(people.drop_nulls(GROUP), stream.schema, at, made=False))
                if made is not None:
                    frames.append(_rows(made, stream.schema, at, made=True))
            figures = _audited(series) if judged else {}
    return Shown(pl.concat(frames), figures)


def _rows(frame: pl.DataFrame, schema: ri.Schema, release: int, *, made: bool) -> pl.DataFrame:
    cells = pl.concat_str([pl.col(name).cast(pl.String).fill_null("") for name in schema.quasi], separator="|")
    number = -pl.col(COUNTERFEIT).cast(pl.Int64) if made else pl.col(PERSON).cast(pl.Int64)
    return frame.select(
        release=pl.lit(release, pl.Int64),
        group=pl.col(GROUP).cast(pl.Int64),
        member=number,
        cells=cells,
        value=pl.col(schema.sensitive).cast(pl.String),
        made=pl.lit(made),
    )


def _audited(series: ri.Series) -> dict[str, Any]:
    """What audits say of all releases together: the default one, and those against who recognises counterfeits."""
    told: dict[str, Any] = {}
    ways: tuple[Recognition | None, ...] = (None, *RECOGNITIONS)
    for how in ways:
        report = series.audit(counterfeits=how, attacks=["Worlds"])
        found = report.disclosure
        told[f"audit, {how or 'not told apart'}"] = (
            f"{'passed' if report.passed else 'not passed'}, highest {found.highest:.3g} ({found.kind}), "
            f"{found.above:,} of {found.people:,} above 1/m, {found.certain:,} certain, {found.open:,} open"
        )
    return told


def described(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Every row with what an outsider sees of it, and the names of those columns."""
    last = rows["release"].max()
    of_group = rows.group_by("release", "group").agg(
        signature=pl.col("value").unique().sort().str.join("|"), size=pl.len(), width=pl.col("value").n_unique()
    )
    shares = (
        rows.group_by("release", "value")
        .agg(share=pl.len())
        .with_columns(share=pl.col("share") / pl.col("share").sum().over("release"))
    )
    rarity = (
        rows.select("release", "group", "value")
        .unique()
        .join(shares, on=["release", "value"])
        .group_by("release", "group")
        .agg(rarest=pl.col("share").min(), commonest=pl.col("share").max())
    )
    frame = rows.join(of_group, on=["release", "group"]).join(rarity, on=["release", "group"])
    # A row is followed by its cells among the same values: that is all an outsider has.
    stay = (
        frame.select("signature", "cells", "release")
        .unique()
        .group_by("signature", "cells")
        .agg(came=pl.col("release").min(), went=pl.col("release").max(), often=pl.len())
    )
    # When the same cells were first and last seen among other values.
    ever = frame.select("cells", "signature", "release").unique()
    elsewhere = (
        stay.select("signature", "cells", "came")
        .join(ever, on="cells", suffix="_other")
        .filter(pl.col("signature") != pl.col("signature_other"))
        .group_by("signature", "cells")
        .agg(
            copied=(pl.col("release") == pl.col("came")).any().cast(pl.Int64),
            buckets=pl.col("signature_other").n_unique(),
        )
    )
    # How many of the bucket came and went with it.
    bucket = frame.group_by("release", "signature").agg(rows_of_bucket=pl.len())
    came = (
        frame.join(stay, on=["signature", "cells"])
        .filter(pl.col("came") == pl.col("release"))
        .group_by("release", "signature")
        .agg(newcomers=pl.len())
    )
    frame = (
        frame.join(stay, on=["signature", "cells"])
        .join(elsewhere, on=["signature", "cells"], how="left")
        .join(bucket, on=["release", "signature"])
        .join(came.rename({"release": "came"}), on=["came", "signature"], how="left")
        .with_columns(
            twins=pl.len().over("release", "cells") - 1,
            twins_in_bucket=pl.len().over("release", "cells", "signature") - 1,
            stayed=pl.col("went") - pl.col("came") + 1,
            gaps=pl.col("went") - pl.col("came") + 1 - pl.col("often"),
            from_start=(pl.col("came") == 1).cast(pl.Int64),
            to_end=(pl.col("went") == last).cast(pl.Int64),
            heap=pl.col("rows_of_bucket") / pl.col("width"),
        )
        .with_columns(
            copied=pl.col("copied").fill_null(0),
            buckets=pl.col("buckets").fill_null(0),
            newcomers=pl.col("newcomers").fill_null(0),
        )
    )
    names = (
        "twins", "twins_in_bucket", "copied", "buckets", "stayed", "gaps", "from_start", "to_end", "came", "newcomers",
        "heap", "width", "rarest", "commonest",
    )  # fmt: skip
    return frame, names


def auc(score: Floats, truth: npt.NDArray[np.bool_]) -> float:
    """The probability that one that is true scores higher than one that is not; ties count half."""
    ranks = pl.Series(score).rank("average").to_numpy()
    positive_, negative = int(truth.sum()), int((~truth).sum())
    return float((ranks[truth].sum() - positive_ * (positive_ + 1) / 2) / (positive_ * negative))


class Recogniser:
    """Logistic regression over the features in bins, and over pairs of the telling ones."""

    def __init__(self, frame: pl.DataFrame, names: tuple[str, ...]) -> None:
        self.names = names
        self.edges = {name: np.unique(np.quantile(frame[name].to_numpy(), np.linspace(0, 1, BINS))) for name in names}
        design, truth = self._design(frame), frame["made"].to_numpy()
        weight = np.where(truth, 0.5 / max(truth.mean(), 1e-9), 0.5 / max(1 - truth.mean(), 1e-9))
        self.beta = np.zeros(design.shape[1])
        for _ in range(25):  # Newton's steps, with a little ridge
            chance = 1 / (1 + np.exp(-np.clip(design @ self.beta, -30, 30)))
            curve = weight * np.maximum(chance * (1 - chance), 1e-6)
            slope = design.T @ (weight * (truth - chance)) - self.beta
            step = np.linalg.solve((design.T * curve) @ design + np.eye(design.shape[1]), slope)
            self.beta += step
            if np.abs(step).max() < 1e-6:
                break

    def _design(self, frame: pl.DataFrame) -> Floats:
        place = {
            name: np.clip(np.searchsorted(edges, frame[name].to_numpy(), side="right") - 1, 0, len(edges) - 1)
            for name, edges in self.edges.items()
        }
        blocks = [np.ones((frame.height, 1))]
        blocks += [np.eye(len(self.edges[name]))[place[name]] for name in self.names]
        for one, other in (("twins", "stayed"), ("copied", "stayed"), ("from_start", "newcomers"), ("copied", "heap")):
            if {one, other} <= {*self.names}:
                wide = len(self.edges[other])
                blocks.append(np.eye(len(self.edges[one]) * wide)[place[one] * wide + place[other]])
        return np.hstack(blocks)

    def score(self, frame: pl.DataFrame) -> Floats:
        """How likely each row looks a counterfeit."""
        scored: Floats = self._design(frame) @ self.beta
        return scored


def argued(rows: pl.DataFrame, m: int) -> dict[str, Any]:
    """What the argument from the most frequent value gives, group by group of each release."""
    often = rows.group_by("release", "value").agg(in_release=pl.len())
    groups = (
        rows.join(often, on=["release", "value"])
        .group_by("release", "group", "value")
        .agg(count=pl.len(), real=(~pl.col("made")).sum(), in_release=pl.col("in_release").first())
        .sort("in_release", "value", descending=[True, False])
        .group_by("release", "group", maintain_order=True)
        .agg(
            top=pl.col("count").first(),
            top_real=pl.col("real").first(),
            most_real=pl.col("real").max(),
            some_wholly=(pl.col("real") == pl.col("count")).any(),
            real=pl.col("real").sum(),
            rows=pl.col("count").sum(),
        )
        .filter(pl.col("real") < pl.col("rows"))
        .filter(pl.col("real") > 0)
    )
    right = groups.filter(pl.col("top") == pl.col("top_real"))
    posterior = right["top"] / right["real"]
    known = groups["most_real"] / groups["real"]
    return {
        "groups with counterfeits": groups.height,
        "most frequent value wholly real": right.height,
        "some value wholly real": int(groups["some_wholly"].sum()),
        "argument beyond 1/m": int((posterior > 1 / m + 1e-12).sum()),
        "argument, worst": posterior.max(),
        "recognised beyond 1/m": int((known > 1 / m + 1e-12).sum()),
        "recognised, worst": known.max(),
        "people of certain value": int(right.filter(pl.col("top") == pl.col("real"))["real"].sum()),
    }


def single(frame: pl.DataFrame, names: tuple[str, ...]) -> list[tuple[str, float]]:
    """The features that tell most by themselves."""
    truth = frame["made"].to_numpy()
    found = [(name, auc(frame[name].to_numpy().astype(np.float64), truth)) for name in names]
    return sorted(found, key=lambda one: -abs(one[1] - 0.5))[:4]


def measured(stream: Stream, method: ri.methods.Method, audits: bool) -> dict[str, Any]:
    """Both questions for one stream and one method: learnt on two series, tried on a third."""
    shown = [published(stream, method, seed, judged=audits and seed == 3) for seed in (1, 2, 3)]
    told = [described(one.rows) for one in shown]
    names = told[0][1]
    trained = pl.concat(frame.select(*names, "made").cast(dict.fromkeys(names, pl.Float64)) for frame, _ in told[:2])
    tried = told[2][0].select(*names, "made").cast(dict.fromkeys(names, pl.Float64))
    rows = shown[2].rows
    lives = rows.group_by("member").agg(pl.col("made").first(), stayed=pl.len())
    return {
        "rows": rows.height,
        "counterfeits": int(rows["made"].sum()),
        "AUC": auc(Recogniser(trained, names).score(tried), tried["made"].to_numpy()),
        "best alone": ", ".join(f"{name} {figure:.2f}" for name, figure in single(tried, names)),
        "releases of a person": float(lives.filter(~pl.col("made"))["stayed"].mean()),  # type: ignore[arg-type]
        "releases of a counterfeit": float(lives.filter("made")["stayed"].mean() or 0.0),  # type: ignore[arg-type]
        **argued(rows, stream.m),
        **shown[2].figures,
    }


def main() -> int:
    """Publish, look, print."""
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=positive, default=1_000, help="People in each release.")
    parser.add_argument("--releases", type=positive, default=12)
    parser.add_argument("--audits", action="store_true", help="also audit each series, which takes some minutes")
    chosen: argparse.Namespace = parser.parse_args()
    results: dict[str, Any] = {}
    for name, stream in streams(chosen.rows, chosen.releases).items():
        for called, method in methods(stream.m).items():
            results[f"{name}, {called}"] = found = measured(stream, method, chosen.audits)
            console().print(f"[bold]{name}, {called}, m = {stream.m}[/]")
            for what, figure in found.items():
                console().print(f"  {what}: {figure:.3f}" if isinstance(figure, float) else f"  {what}: {figure}")
    save(chosen.json, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
