"""What Bu, Fu, Wong, Chen & Li (2008) say about their experiments, beside what was measured here."""

from __future__ import annotations

import polars as pl

from reissue_studies.bu.experiments import varying

TITLE = "beside the paper"
MOST = 0.9
"""More than so many of those linkable are breached, for l = 5 after about five rounds."""
PERTURBED = 0.0002


def of_breaches(found: pl.DataFrame, method: str) -> pl.DataFrame:
    """Figures 2 and 3: when 90 % are passed where participation is known, and ours where it is not."""
    rows = []
    for volatile in found["volatile"].unique(maintain_order=True).to_list():
        for l in found["l"].unique(maintain_order=True).to_list():  # noqa: E741
            part = found.filter(pl.col("volatile") == volatile, pl.col("l") == l)
            known = part.filter(pl.col("method") == method, pl.col("participation") == "known").sort("round")
            over = known.filter(pl.col("rate") > MOST)["round"].to_list()
            said = "after about 5 rounds" if l == 5 else ""
            here = f"after {over[0]} rounds" if over else "not in these rounds"
            rows.append((f"more than {MOST:.0%}, l = {l}, vol = {volatile:.0%}", said, here))
    ours = found.filter(pl.col("method") == "HD-composition", pl.col("participation") == "unknown")
    rows.append(("people breached by ours, any round", "none", f"{int(ours['vulnerable'].sum()):,}"))
    return _table(*rows)


def of_perturbation(found: pl.DataFrame) -> pl.DataFrame:
    """Figure 4."""
    usual = _first_run(found)
    perturbed = usual.filter(pl.col("replaced") > 0)["round"].to_list()
    first = f"until round {perturbed[0] - 1}" if perturbed else "in all rounds"
    share = int(found["replaced"].sum()) / max(1, int(found["present"].sum()))
    return _table(
        ("no perturbation", "at the first few rounds", first),
        ("share of the people present", f"about {PERTURBED:.2%}", f"{share:.4%} over all runs and rounds"),
        ("the most in a round", "", f"{_largest(found, 'share'):.4%}"),
    )


def of_errors(found: pl.DataFrame) -> pl.DataFrame:
    """Figure 5."""
    usual = _first_run(found).sort("round")
    half = usual.height // 2
    early, late = usual["mean"].head(max(half, 1)).mean(), usual["mean"].tail(max(half, 1)).mean()
    return _table(
        ("error late / early, the usual run", "does not grow much", _ratio(late, early)),
        ("error, largest / smallest C", "does not grow much", _over(found, "container", "mean")),
    )


def of_time(found: pl.DataFrame) -> pl.DataFrame:
    """Figure 7."""
    return _table(
        ("seconds, largest / smallest l", "below 1: the larger l, the faster", _over(found, "l", "grouping")),
        ("seconds, largest / smallest C", "nearly the same", _over(found, "container", "grouping")),
    )


def of_participation(found: pl.DataFrame) -> pl.DataFrame:
    """Figure 8."""
    return _table(
        ("error, largest / smallest K", "no drastic influence", _over(found, "known", "mean")),
        ("seconds, largest / smallest K", "no drastic influence", _over(found, "known", "grouping")),
    )


def _first_run(found: pl.DataFrame) -> pl.DataFrame:
    first = found.row(0, named=True)
    return found.filter(pl.col(name) == first[name] for name in ("l", "container", "known"))


def _over(found: pl.DataFrame, name: str, column: str) -> str:
    """The mean over all rounds with the largest value of a parameter, over that with the smallest."""
    means = varying(found, name).group_by(name).agg(pl.col(column).mean()).sort(name)[column].to_list()
    return _ratio(means[-1], means[0])


def _ratio(one: object, other: object) -> str:
    if not isinstance(one, float) or not isinstance(other, float) or not other:
        return "not defined"
    return f"{one / other:.2f}"


def _largest(found: pl.DataFrame, column: str) -> float:
    return float(found[column].to_numpy().max())


def _table(*rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(("what", "paper", "here"), pl.String), orient="row")
