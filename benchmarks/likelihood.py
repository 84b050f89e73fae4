"""What somebody learns who knows which values are likely for whom: the figures of the page on `Likelihood`.

The generated census, published in several ways; then the attack with a model learnt from the release, and with one
from a table of as many other people. `right` is how many top guesses are right, `without` the same without people's own
rows; `error` is the median error of counts where sets are published.

python benchmarks/likelihood.py --json figures.json
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl
from measuring import console, save
from samples import census

import reissue as ri

SEED = 1
SENSITIVE = "occupation"
WAYS: dict[str, tuple[Any, str]] = {
    "one slot": (ri.Alternatives(m=10, epsilon=1), "alternatives"),
    "limit 1/2": (ri.Alternatives(m=10, limit="1/2", epsilon=1), "alternatives"),
    "limit 1/2, given gender": (ri.Alternatives(m=10, limit="1/2", epsilon=1, given=["gender"]), "alternatives"),
    "limit 4/5, given gender and education": (
        ri.Alternatives(m=10, limit="4/5", epsilon=1, given=["gender", "education"]),
        "alternatives",
    ),
    "m-invariance": (ri.MInvariance(m=10), "anatomised"),
}


def figures(name: str, table: pl.DataFrame, others: pl.DataFrame, folder: Path) -> Iterator[dict[str, Any]]:
    """Publish in one way, and attack with both models."""
    method, form = WAYS[name]
    quasi = {"age": ri.Numeric(), **dict.fromkeys(("gender", "education", "birthplace"), ri.Categorical())}
    policy = ri.Policy(
        ri.Schema("person", quasi, SENSITIVE),
        method,
        form=form,
        checks=ri.Checks(counterfeit=1, few_groups=1, withheld=1),
    )
    with ri.open(folder, policy) as series:
        series.publish(table, seed=SEED)
        view = series.published(quasi=True)
        numbers = series._ledger.people().select(pl.col("number").cast(pl.Int64), pl.col("id").cast(pl.Int64))
        measured = series.utility(1, workload=ri.Workload(2, 0.05, 300, seed=SEED)) if view.sets else None
    truth = numbers.join(table, left_on="id", right_on="person").select(person="number", value=SENSITIVE)
    error = None if measured is None else measured.query_error.median
    for model, source in (("learned", "learned"), ("elsewhere", others)):
        began = perf_counter()
        found = ri.attacks.Likelihood(model=source).run(view)
        seconds = perf_counter() - began
        own, told = found.scored(truth).row(0, named=True), found.releases.row(0, named=True)
        shown = {key: round(own[key], 4) for key in ("right", "without", "advantage")}
        expected = {key: round(told[key], 4) for key in ("expected", "power", "gain", "gain_error")}
        yield {"way": name, "model": model, **shown, **expected, "error": error, "seconds": round(seconds, 1)}


def main() -> int:
    """All ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="how many people")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    asked = parser.parse_args()
    table, others = census(asked.rows, seed=SEED), census(asked.rows, seed=SEED + 1).drop("person")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for at, name in enumerate(WAYS):
            for row in figures(name, table, others, Path(folder) / str(at)):
                results.append(row)
                console().print(row)
    save(asked.json, {"likelihood": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
