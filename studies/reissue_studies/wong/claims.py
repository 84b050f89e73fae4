"""What Wong, Fu, Wang & Pei (2007) say about their experiments, beside what was measured here.

The paper gives few numbers; for the rest it says how things grow. Such a claim stands beside how many of the steps
measured here agree with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

TITLE = "beside the paper"
SENSITIVE_TUPLES = 1_566
ATTACK_SECONDS = {2: 173, 10: 239}
CREDIBILITY = 0.9
"""About so much is the average credibility of problematic tuples for m = 2, whatever the QID size."""


def of_attack(found: pl.DataFrame) -> pl.DataFrame:
    """Figure 2, local recoding."""
    local = found.filter(pl.col("recoding") == "local")
    least, most = int(local["m"].to_numpy().min()), int(local["size"].to_numpy().max())
    by_m = local.filter(pl.col("size") == most).sort("m")
    by_size = local.filter(pl.col("m") == least).sort("size").drop_nulls("credibility")
    span = "none found"
    if by_size.height:
        averages = by_size["credibility"].to_numpy()
        span = f"{averages.min():.3f} to {averages.max():.3f}"
    return _table(
        ("sensitive tuples", f"{SENSITIVE_TUPLES:,}", f"{local['sensitive'][0]:,}"),
        ("(a) share of problematic tuples grows with m", "yes", _grows(by_m, "share")),
        ("(b) their credibility falls with m", "yes", _falls(by_m, "credibility")),
        (f"(c) share grows with QID size, m = {least}", "yes", _grows(by_size, "share")),
        (f"(d) credibility, any QID size, m = {least}", f"about {CREDIBILITY:g}", span),
    )


def of_attack_time(found: pl.DataFrame) -> pl.DataFrame:
    """The seconds of the attack, local recoding and all attributes."""
    most = int(found["size"].to_numpy().max())
    local = found.filter(pl.col("recoding") == "local", pl.col("size") == most)
    rows = [
        (f"seconds for m = {m}", str(seconds), f"{local.filter(pl.col('m') == m)['seconds'][0]:.3f}")
        for m, seconds in ATTACK_SECONDS.items()
        if m in local["m"].to_list()
    ]
    return _table(*rows)


def of_one_table(means: pl.DataFrame) -> pl.DataFrame:
    """Figures 3 and 4."""
    ordered = means.sort("size", maintain_order=True)
    keys = ["method", "k"]
    by_k = means.sort("k", maintain_order=True)
    ours = means.filter(pl.col("method") == "Mask").select("size", "k", mine="loss")
    beside = means.filter(pl.col("method") == "AlphaK").join(ours, on=["size", "k"])
    more = beside.filter(pl.col("loss") > pl.col("mine")).height
    masked = pl.col("method") == "Mask"
    return _table(
        ("(a) time grows with QID size", "yes", _grows(ordered, "grouping", keys)),
        ("(a) time falls with k", "yes", _falls(by_k, "grouping", ["method", "size"])),
        ("(b) error grows with QID size", "yes", _grows(ordered, "mean", keys)),
        ("(b) error grows with k", "yes", _grows(by_k, "mean", ["method", "size"])),
        ("(c) loss grows with QID size", "yes", _grows(ordered, "loss", keys)),
        ("(c) loss grows with k", "yes", _grows(by_k, "loss", ["method", "size"])),
        ("(c) AlphaK loses more than Mask", "in some cases", f"in {more} of {beside.height}"),
        ("(d) Mask's distortion grows with QID size", "yes", _grows(ordered.filter(masked), "distortion", keys)),
        ("(d) Mask's distortion falls with k", "yes", _falls(by_k.filter(masked), "distortion", ["size"])),
    )


def of_two_tables(means: pl.DataFrame) -> pl.DataFrame:
    """Figure 5."""
    usual = means.filter(pl.col("dimensions") == pl.col("size")).sort("k", maintain_order=True)
    keys, masked = ["method", "m", "selectivity"], pl.col("method") == "Mask"
    by_m = usual.filter(masked).sort("m", maintain_order=True)
    return _table(
        ("error grows with k", "yes", _grows(usual, "mean", keys)),
        ("Mask's distortion falls with k", "yes", _falls(usual.filter(masked), "distortion", keys)),
        ("Mask's error grows with m", "yes", _grows(by_m, "mean", ["k", "selectivity"])),
    )


def of_queries(means: pl.DataFrame) -> pl.DataFrame:
    """Figure 6."""
    keys = ["method", "m", "k"]
    shares = means["selectivity"].unique().sort().to_list()
    largest = int(means["size"].to_numpy().max())
    usual = means.group_by("selectivity").agg(pl.col("dimensions").n_unique()).sort("dimensions")["selectivity"][-1]
    by_size = means.filter(pl.col("selectivity") == usual).sort("dimensions", maintain_order=True)
    by_share = means.filter(pl.col("dimensions") == largest).sort("selectivity", maintain_order=True)
    return _table(
        ("error grows with qd", "yes", _grows(by_size, "mean", keys)),
        *([("error falls with s", "yes", _falls(by_share, "mean", keys))] if len(shares) > 1 else []),
    )


def _table(*rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(("what", "paper", "here"), pl.String), orient="row")


def _grows(found: pl.DataFrame, column: str, keys: Sequence[str] = ()) -> str:
    return _steps(found, column, keys, 1)


def _falls(found: pl.DataFrame, column: str, keys: Sequence[str] = ()) -> str:
    return _steps(found, column, keys, -1)


def _steps(found: pl.DataFrame, column: str, keys: Sequence[str], sign: int) -> str:
    """In how many steps from one row to the next, of the same keys, the column moves so."""
    step = pl.col(column).diff()
    moved = found.select((step.over(list(keys)) if keys else step).alias("step")).drop_nulls()["step"]
    agreeing = int((moved * sign > 0).sum())
    return f"in {agreeing} of {moved.len()} steps"
