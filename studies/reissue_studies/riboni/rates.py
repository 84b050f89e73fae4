"""Observed rates of values ruled out and of breaches, beside the formulas of Riboni & Bettini 2009, Section 3.

What is true of the formulas for one application of the two restriction functions, everybody being compromised
independently with probability p (the tests hold the proofs by enumeration and the smallest counterexamples):

- p_ct (Lemma 1) is an upper bound, and what happens where a person's groups have no other member in common. Values
  have different holders, so that the probability that ct-pvr rules out all of them is at most p_ct^(m - 1).
- p_hc (Lemma 2) is not an upper bound. A set that is correlated with the person's either has a value, and never rules
  it out, or has it not, and rules it out with probability p^n, not (p - p/m)^n. And the sets are not L floor(m/n):
  each other release in which a companion is published can give another one, also before the person came or after he
  left.
- p_pb (Theorem 2) is not an upper bound either. One compromised set rules out several values at once (with n = 1 all
  of them), and the formula multiplies as if they were independent. All these events grow with the set of compromised
  people, so by Harris's inequality the product of their true probabilities is a lower bound.

`breach_bound` is one that holds, for one application.

None of them is about what follows when the functions are applied again to what they found out: somebody with one value
left is as good as compromised, and exposes others in turn. In the paper's setting that exposes most people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.errors import ParameterError
from reissue.methods import CorSplit, MInvariance
from reissue.methods.base import Method
from reissue.model.published import Published, PublishedGroups
from reissue.publishing.policy import Policy
from reissue.publishing.rehearsal import Rehearsal
from reissue.reasoning.correlation.restriction import p_ct, p_hc, p_pb
from reissue.samples.census import census, whole_numbers
from reissue.samples.streams import updates
from reissue_studies.census_table import census_schema
from reissue_studies.progress import Progress, silent
from reissue_studies.riboni.rates_counting import PER_PERSON, PER_VALUE, Secrets
from reissue_studies.riboni.setting import SENSITIVE
from reissue_studies.setting import StudySetting, one_share, refuse, several_shares, several_wholes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SURE = 4
"""A rate counts as beyond a formula when it is so many standard errors beyond it."""
NEVER = 2**62
"""In place of n where no set is correlated with a person's."""

RATES: dict[str, type[pl.DataType]] = {
    "lifespan": pl.Int64,
    "quantity": pl.String,
    "trials": pl.Int64,
    "rounds": pl.Int64,
    "observed": pl.Float64,
    "standard_error": pl.Float64,
    "formula": pl.Float64,
    "formula_with_degree": pl.Float64,
    "bound": pl.Float64,
    "exceeds": pl.Boolean,
    "exceeds_with_degree": pl.Boolean,
    "complete": pl.Boolean,
}
"""The columns of `observed`."""


def breach_bound(p: float, L: Ints | int, m: Ints | int, n: Ints | int, sets: Ints | int) -> Floats:
    """At least the probability of a breach in one application, of somebody linked to so many sets of n or more people.

    Either ct-pvr rules out all values, or some set is compromised altogether; the latter has at most the probability
    that it would have if the sets had nobody in common (Harris).
    """
    some_set = -np.expm1(np.asarray(sets) * np.log1p(-(float(p) ** np.minimum(n, NEVER).astype(np.float64))))
    bound: Floats = np.minimum(np.asarray(p_ct(p, L)) ** (np.asarray(m) - 1) + some_set, 1.0)
    return bound


def observed(
    published: Published, truth: Ints, p: float, rng: np.random.Generator, rounds: int = 20, *, worlds: bool = False
) -> pl.DataFrame:
    """Compromise everybody with probability p, so many times: one row for each lifespan and quantity.

    `truth` has for each person number the position of the value in the values of the view. The quantities are those
    of `rates_counting`; `trials` counts people who were not compromised, once for each other value of their
    signature where a quantity is a share of values. `formula` is the mean over the same trials, with everybody's
    lifespan, size of signature, and smallest correlated set as n; `formula_with_degree` has the smallest of the
    series as n. `bound` is the mean of `breach_bound`, for breaches only. The standard error is the larger of that
    between the rounds, in which people depend on each other, and that of independent trials; `exceeds` says that a
    rate is 4 of them above its formula. Where not `complete`, the rates of applications to the end, and of worlds, may
    be higher.
    """
    whole_numbers("observed", None, rounds=(rounds, 2))
    refuse("observed", one_share("observed", "p", p, within=True))
    secrets = Secrets(published, np.asarray(truth, dtype=np.int64))
    quantities = (*PER_VALUE, *PER_PERSON) if worlds else (*PER_VALUE, *PER_PERSON[:-1])
    spans = int(secrets.lifespan.max(initial=0)) + 1
    tallies = {quantity: np.zeros((5, rounds, spans)) for quantity in quantities}
    forecasts = _forecasts(secrets, p)
    bound = breach_bound(p, secrets.lifespan, secrets.signature_size, secrets.smallest, secrets.sets)
    incomplete: frozenset[str] = frozenset()
    for number, round_ in enumerate(secrets.draws(p, rng, rounds, worlds=worlds)):
        who = round_.at_risk & (secrets.signature_size > 1)
        span, others = secrets.lifespan[who], secrets.signature_size[who] - 1
        incomplete |= round_.incomplete
        for quantity, tally in tallies.items():
            hits, weights = (
                (round_.values[quantity][who], others)
                if quantity in PER_VALUE
                else (round_.people[quantity][who], np.ones(others.size))
            )
            own, with_degree = forecasts[quantity]
            columns = (hits, weights, weights * own[who], weights * with_degree[who], weights * bound[who])
            for row, column in enumerate(columns):
                tally[row, number] = np.bincount(span, weights=column, minlength=spans)
    rows = [
        row
        for span in range(1, spans)
        for quantity, tally in tallies.items()
        for row in _summary(span, quantity, tally[:, :, span], quantity not in incomplete)
    ]
    return pl.DataFrame(rows, schema=RATES, orient="row")


def _forecasts(secrets: Secrets, p: float) -> dict[str, tuple[Floats, Floats]]:
    """For each quantity what the formula says for each member: with his own n, and with the degree of the series."""
    L, m = secrets.lifespan, np.maximum(secrets.signature_size, 1)
    sizes = np.minimum(secrets.smallest, NEVER), np.full(L.size, min(secrets.degree, NEVER))
    ct = np.asarray(p_ct(p, L))
    hc = [np.asarray(p_hc(p, L, m, n)) for n in sizes]
    breach = [np.asarray(p_pb(p, L, m, n)) for n in sizes]
    either = [1 - (1 - ct) * (1 - one) for one in hc]
    found = {"ct": [ct, ct], "hc": hc, "either": either, **dict.fromkeys(PER_PERSON, breach)}
    return {quantity: (own, with_degree) for quantity, (own, with_degree) in found.items()}


def _summary(span: int, quantity: str, tally: Floats, complete: bool) -> Iterator[tuple[object, ...]]:
    """The row for one lifespan and quantity; none where nobody of that lifespan was left to be exposed."""
    hits, weights, own, with_degree, bound = tally
    trials, rounds = weights.sum(), weights.size
    if not trials:
        return
    rate = hits.sum() / trials
    between = np.sqrt(rounds / (rounds - 1) * np.sum((hits - rate * weights) ** 2)) / trials
    # One hit and one miss more, so that a rate of 0 or 1 is not taken for certain.
    smooth = (hits.sum() + 1) / (trials + 2)
    error = max(between, np.sqrt(smooth * (1 - smooth) / trials))
    formula, degree_formula = own.sum() / trials, with_degree.sum() / trials
    yield (
        span,
        quantity,
        int(trials),
        rounds,
        rate,
        error,
        formula,
        degree_formula,
        bound.sum() / trials if quantity == "breach" else None,
        bool(rate - formula > SURE * error),
        bool(rate - degree_formula > SURE * error),
        complete,
    )


def rotation(
    pool: pl.DataFrame, *, people: int, L: int, releases: int, seed: int | None = None
) -> Iterator[pl.DataFrame]:
    """A stream in which everybody who comes in stays for L releases; 1/L of the people are replaced each time.

    Of those there at first, one L-th leaves after each release.
    """
    whole_numbers("rotation", seed, people=(people, 1), L=(L, 1), releases=(releases, 1))
    step = people // L
    needed = (L + releases - 1) * step
    if not step or needed > pool.height:
        raise ParameterError(
            f"The 'people' parameter of rotation must be from {L}, one for each release of a stay, to as many as the "
            f"pool of {pool.height:,} allows for {releases} releases. Got {people} instead."
        )
    order = np.random.default_rng(seed).permutation(pool.height)
    return (pool[np.sort(order[step * at : step * (at + L)])] for at in range(releases))


def rehearsed(method: Method, states: Iterable[pl.DataFrame], seed: int) -> tuple[Published, Ints]:
    """The outsider's view of a series of census tables made by a method, and the true values by person number.

    People are numbered in the order of their ids, since a series draws its numbers anew each time it is made.
    """
    series = Rehearsal(Policy(census_schema(SENSITIVE), method, form="anatomised"))
    releases: list[PublishedGroups] = []
    values: tuple[object, ...] = ()
    truth = np.zeros(0, dtype=np.int64)
    for number, table in enumerate(states, start=1):
        draft = series.publish(table, seed=seed + number)
        releases += draft.view.releases
        values = draft.view.values
        people, codes = draft.snapshot.people, draft.snapshot.values.codes
        truth = np.concatenate([truth, np.zeros(len(series.ids) - truth.size, dtype=np.int64)])
        truth[people] = codes
    order = series.ids.arg_sort().to_numpy()
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    return Published(tuple(_renumbered(release, rank) for release in releases), values), truth[order]


def _renumbered(release: PublishedGroups, rank: Ints) -> PublishedGroups:
    members = np.where(release.members < 0, release.members, rank[np.maximum(release.members, 0)])
    return replace(release, members=members)


@dataclass(frozen=True)
class Rates(StudySetting):
    """What series are made, and how often people are compromised in them."""

    people: int = 3_000
    """The people of every release."""
    m: tuple[int, ...] = (2, 3)
    p: tuple[float, ...] = (0.1, 0.2, 0.3)
    L: tuple[int, ...] = (5, 10)
    """Everybody stays for L of 2 L releases; rates are those of people who were published L times."""
    paper: tuple[int, int, float, int] | None = (6, 3, 0.04, 21)
    """m, n, p and L of the paper's first setting, with 10 % turnover and as many releases as L; None: without."""
    few: int = 100
    """The people of every release of the small series that `exact_rates` attacks."""
    rounds: int = 12
    seed: int = 1

    def __post_init__(self) -> None:
        self.check_sizes(people=1, few=1, rounds=2)
        problems = several_wholes("Rates", "m", self.m, 2) + several_wholes("Rates", "L", self.L, 1)
        refuse("Rates", problems + several_shares("Rates", "p", self.p, within=True))

    def methods(self, m: int) -> list[tuple[Method, int | None]]:
        """m-invariance as the control, and Cor-Split with every degree n."""
        return [(MInvariance(m), None), *((CorSplit(m, n), n) for n in range(1, m + 1))]

    def observe(self, progress: Progress = silent) -> pl.DataFrame:
        """The rates of every method, as `rates` says."""
        found = [
            frame for L in self.L for m in self.m for frame in self._rotated(self.people, m, L, progress, worlds=False)
        ]
        if self.paper is not None:
            found += self._as_in_the_paper(*self.paper, progress)
        return pl.concat(found)

    def observe_worlds(self, progress: Progress = silent) -> pl.DataFrame:
        """The rates of small series under the exact attack, as `exact_rates` says."""
        L = min(self.L)
        found = [frame for m in self.m for frame in self._rotated(self.few, m, L, progress, worlds=True)]
        return pl.concat(found)

    def _rotated(self, people: int, m: int, L: int, progress: Progress, *, worlds: bool) -> Iterator[pl.DataFrame]:
        pool = census(-(-people // L) * (3 * L), sensitive=SENSITIVE, seed=self.seed_of(0))
        for method, n in self.methods(m):
            progress(f"{method!r}, L = {L}")
            states = rotation(pool, people=people, L=L, releases=2 * L, seed=self.seed_of(1))
            yield self._of(method, m, n, L, self.p, states, worlds=worlds)

    def _as_in_the_paper(self, m: int, n: int, p: float, L: int, progress: Progress) -> Iterator[pl.DataFrame]:
        turnover = max(self.people // 10, 1)
        pool = census(self.people + (L - 1) * turnover, sensitive=SENSITIVE, seed=self.seed_of(0))
        merged = CorSplit(m, n, combinations=True)
        for method, degree in ((MInvariance(m), None), (CorSplit(m, n), n), (merged, n)):
            progress(f"{method!r}, L = {L}, as in the paper")
            states = updates(pool, initial=self.people, turnover=turnover, releases=L, seed=self.seed_of(1))
            yield self._of(method, m, degree, L, (p,), states, worlds=False)

    def _of(
        self,
        method: Method,
        m: int,
        n: int | None,
        L: int,
        chances: Sequence[float],
        states: Iterable[pl.DataFrame],
        *,
        worlds: bool,
    ) -> pl.DataFrame:
        view, truth = rehearsed(method, states, self.seed_of(2))
        rng = np.random.default_rng(self.seed_of(3))
        what = [
            pl.lit(named(method)).alias("method"),
            pl.lit(m, dtype=pl.Int64).alias("m"),
            pl.lit(n, dtype=pl.Int64).alias("n"),
        ]
        return pl.concat(
            observed(view, truth, p, rng, self.rounds, worlds=worlds)
            .filter(pl.col("lifespan") == L)
            .select(*what, pl.lit(p).alias("p"), pl.col("lifespan").alias("L"), pl.exclude("lifespan"))
            for p in chances
        )


def named(method: Method) -> str:
    """The name in the column `method`."""
    return f"{method.name}, combinations" if isinstance(method, CorSplit) and method.combinations else method.name


def rates(setting: Rates | None = None, *, progress: Progress = silent) -> pl.DataFrame:
    """Observed rates beside the formulas, of people published L times: the columns of `observed`, and which series.

    Which method with which m, n (null for m-invariance), p and L. The last rows are the paper's first setting, where
    Cor-Split is also asked to let no combination of groups tie few people together.
    """
    return (setting or Rates()).observe(progress)


def exact_rates(setting: Rates | None = None, *, progress: Progress = silent) -> pl.DataFrame:
    """The same for series small enough to go through all worlds, with the rates of `worlds` beside the others."""
    return (setting or Rates()).observe_worlds(progress)
