"""What a model of values leaves of people's secrets, and how much of that their own rows tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.base import POSTERIORS, Finding, Findings, Judgement, Limits, together
from reissue.attacks.figures import RISKS, SAMPLED, SURE, Figures, called, limit_told
from reissue.attacks.likelihood.likelihood_evidence import GroupEvidence
from reissue.attacks.likelihood.likelihood_judged import ColumnEvidence, Judged
from reissue.attacks.sentences import Person, Place, Sentence, Value, Witness, one_of
from reissue.attacks.tied import tied_to, tied_together
from reissue.errors import ParameterError, count_of, listed
from reissue.model.published import Published
from reissue.tables.frames import read_table

EXPLAINED = 50
"""So many people at most have their derivation among the witnesses."""
SHOWN = 12
"""So many values of a set are told."""
NORMAL = 1.959963984540054
"""An interval of 95 % is so many standard errors to each side."""
BEYOND = 1e-9
"""A sum in floating point counts as above a limit by more than this only."""
HEADING = "What is likely for whom"


class LikelihoodFindings(Findings):
    """How likely everybody's values are under a model; an estimate. Each release is judged by itself."""

    attack: ClassVar[str] = "Likelihood"

    def __init__(
        self, published: Published, judged: tuple[Judged, ...], *, model: str, bare: tuple[int, ...], known: Ints
    ) -> None:
        self.published = published
        self.model = model
        """Where the model comes from, in a few words."""
        self._judged, self._bare, self._known = judged, bare, known
        people = count_of(
            np.unique(np.concatenate([one.evidence.people[one.real] for one in judged])).size, "person", "people"
        )
        shown = "sets" if judged[-1].sets else "groups"
        self.searched = (f"every release by itself: the {shown} of {people}, under a model that {model}",)
        self.undecided = tuple(self._undecided())

    def _undecided(self) -> list[str]:
        told = ["whether the model holds: another one may tell more"]
        groups = any(not one.sets for one in self._judged)
        told.append(
            "how often guesses are right: what is expected is by the model and held against no truth, "
            + (
                "and who is in which group may tell more than it knows, or less"
                if groups
                else "and may be off by some points"
            )
            + "; scored() with the true values says it"
        )
        if self._bare:
            told.append(f"{count_of(len(self._bare), 'release')} without quasi-identifiers in the view")
        if not all(one.evidence.summed for one in self._judged):
            told.append("how values are given out within large groups was approximated, not summed over all ways")
        if len(self._judged) > 1:
            told.append("what several releases tell together, which is for Tracking and Worlds")
        return told

    def __repr__(self) -> str:
        return f"LikelihoodFindings({count_of(len(self._judged), 'release')}, a model that {self.model})"

    # Figures

    @cached_property
    def releases(self) -> pl.DataFrame:
        """One row for each release: how often top guesses are expected to be right, with and without own rows.

        `gain` is how much better the model predicts what a row of sets, or a group, shows than none does, as a mean of
        logarithms, with its standard error; `power` how far the model is trusted, 0 not at all. `expected` and
        `without` are what the model expects of itself; `scored` holds guesses against the truth.
        """
        return pl.DataFrame([self._figures(one) for one in self._judged])

    def _figures(self, one: Judged) -> dict[str, Any]:
        top = one.posterior[one.top()][one.real]
        alone = one.alone_chance[one.real]
        return {
            "release": one.number,
            "people": int(one.real.sum()),
            "power": float(np.mean([model.power for model in one.trained.models])),
            "gain": one.trained.gain,
            "gain_error": one.trained.gain_error,
            "expected": float(top.mean()),
            "without": float(alone.mean()),
            "advantage": float(top.mean() - alone.mean()),
            "highest": float(top.max()),
        }

    def of_column(self, name: str) -> LikelihoodFindings:
        """The same for one of several sensitive columns, of which values are then spoken."""
        for column in self.published.columns:
            if column.name == name:
                return LikelihoodFindings(
                    replace(self.published, values=column.values, columns=()),
                    tuple(one.of_column(column) for one in self._judged),
                    model=self.model,
                    bare=self._bare,
                    known=self._known,
                )
        raise ParameterError("There is no such sensitive column in the view.", hint="columns are called as published.")

    def tables(self, limits: Limits) -> Mapping[str, pl.DataFrame]:
        """The figures of the releases, with how many people are above the limit; and those of each column."""
        found = {HEADING: self._table(limits.probability)}
        for name, limit in limits.columns or ():
            found[f"{HEADING}: {name}"] = self.of_column(name)._table(limit)
        return found

    def _table(self, limit: Fraction | None) -> pl.DataFrame:
        if limit is None:
            return self.releases
        bar = float(limit) + BEYOND
        tops = [one.posterior[one.top(limited=True)][one.real] for one in self._judged]
        above = pl.Series([int((top > bar).sum()) for top in tops], dtype=pl.Int64)
        twice = pl.Series([int((top > 2 * bar).sum()) for top in tops], dtype=pl.Int64)
        return self.releases.with_columns(above=above, above_twice=twice)

    @cached_property
    def _last(self) -> tuple[Ints, Ints, Ints]:
        """For each person whose value is not known: number, place of their last release here, and row in it."""
        people = np.concatenate([one.evidence.people for one in self._judged])
        place = np.concatenate([np.full(one.real.size, at) for at, one in enumerate(self._judged)])
        row = np.concatenate([np.arange(one.real.size) for one in self._judged])
        asked = (people >= 0) & ~np.isin(people, self._known)
        people, place, row = people[asked], place[asked], row[asked]
        order = np.lexsort((place, people))
        last = np.append(np.diff(people[order]) != 0, True) if order.size else np.zeros(0, dtype=np.bool_)
        chosen = order[last]
        return people[chosen], place[chosen], row[chosen]

    @cached_property
    def _worst(self) -> tuple[Floats, Ints, Ints]:
        """For each of them how likely their likeliest value with a limit is, which one, and its entry."""
        people, place, row = self._last
        chance, value, entry = np.zeros(people.size), np.zeros(people.size, np.int64), np.zeros(people.size, np.int64)
        for at, one in enumerate(self._judged):
            mine = place == at
            entries = one.top(limited=True)[row[mine]]
            chance[mine], value[mine], entry[mine] = one.posterior[entries], one.evidence.codes[entries], entries
        return chance, value, entry

    @cached_property
    def risks(self) -> pl.DataFrame:
        """For each person, by number, the likeliest value's probability in the last release that they are in."""
        people, chance = self._last[0], self._worst[0]
        return _estimates(chance).risks(people, np.arange(people.size)) if people.size else pl.DataFrame(schema=RISKS)

    @cached_property
    def posteriors(self) -> pl.DataFrame:
        """How likely each value of each set or group is for everybody, in its `release`."""
        labels = pl.Series([str(value) for value in self.published.values], dtype=pl.String)
        frames = []
        for one in self._judged:
            shown = np.flatnonzero(one.real[one.owner] & (one.posterior > 0))
            people = one.evidence.people[one.owner[shown]]
            frames.append(
                _estimates(one.posterior[shown]).posteriors(
                    called(self.published, people),
                    labels.gather(one.evidence.codes[shown]),
                    np.arange(shown.size),
                    release=pl.Series(np.full(shown.size, one.number)),
                )
            )
        person = pl.Int64 if self.published.people is None else pl.String
        return pl.concat([pl.DataFrame(schema={**POSTERIORS, "person": person, "release": pl.Int64}), *frames])

    # Against the truth, which no outsider has

    def scored(self, truth: Any) -> pl.DataFrame:
        """One row for each release: how often top guesses *are* right, with and without own rows, and 95 % intervals.

        `advantage` is the difference of the two. Its interval goes by people for whom one guess is right and the other
        is not, and takes people for independent. `truth` is private: a mapping from people, as the view calls them, to
        their values, or a table with the columns `person` and `value` and, where values change, `release`. Only people
        whom it has are counted.
        """
        rows = []
        for one in self._judged:
            true, there = self._true(truth, one)
            guess = one.evidence.codes[one.top()]
            row: dict[str, Any] = {"release": one.number, "people": int(there.sum())}
            right, alone = (guessed[there] == true[there] for guessed in (guess, one.alone))
            for name, hit in (("right", right), ("without", alone)):
                low, high = wilson(int(hit.sum()), hit.size)
                row |= {name: int(hit.sum()) / max(hit.size, 1), f"{name}_low": low, f"{name}_high": high}
            low, high = difference(int((right & ~alone).sum()), int((alone & ~right).sum()), right.size)
            advantage = row["right"] - row["without"]
            rows.append({**row, "advantage": advantage, "advantage_low": low, "advantage_high": high})
        return pl.DataFrame(rows)

    def calibration(self, truth: Any, bins: int = 10) -> pl.DataFrame:
        """Whether what has probability x is true x of the time: entries of all rows, by probability, in `bins` bins.

        `share` is how many of a bin's entries are true, with a 95 % interval that takes them for independent.
        """
        if not isinstance(bins, int) or isinstance(bins, bool) or bins < 1:
            raise ParameterError("The 'bins' parameter of calibration must be a whole number of at least 1.")
        chances, hits = [], []
        for one in self._judged:
            true, there = self._true(truth, one)
            mine = there[one.owner]
            chances.append(one.posterior[mine])
            hits.append(one.evidence.codes[mine] == true[one.owner][mine])
        chance, hit = np.concatenate(chances), np.concatenate(hits)
        at = np.minimum((chance * bins).astype(np.int64), bins - 1)
        rows = []
        for place in np.unique(at).tolist():
            mine = at == place
            low, high = wilson(int(hit[mine].sum()), int(mine.sum()))
            rows.append(
                {
                    "from": place / bins,
                    "to": (place + 1) / bins,
                    "entries": int(mine.sum()),
                    "probability": float(chance[mine].mean()),
                    "share": float(hit[mine].mean()),
                    "low": low,
                    "high": high,
                }
            )
        return pl.DataFrame(rows)

    def _true(self, truth: Any, one: Judged) -> tuple[Ints, Bools]:
        """For each row the position of its true value, and whether it is known."""
        if isinstance(truth, Mapping):
            table = pl.DataFrame(
                {"person": list(truth), "value": [str(value) for value in truth.values()]}, strict=False
            )
        else:
            table = read_table(truth)[0]
        if lacking := [name for name in ("person", "value") if name not in table.columns]:
            raise ParameterError(f"The truth lacks the column {listed(lacking)}.")
        if "release" in table.columns:
            table = table.filter(pl.col("release") == one.number)
        numbers = np.array([self.published.number(person) for person in table["person"].to_list()], dtype=np.int64)
        place = {str(value): at for at, value in enumerate(self.published.values)}
        codes = np.array([place.get(value, -1) for value in table["value"].cast(pl.String).to_list()], dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        numbers, codes = numbers[order], codes[order]
        if not numbers.size:
            return np.full(one.real.size, -1), np.zeros(one.real.size, dtype=np.bool_)
        at = np.minimum(np.searchsorted(numbers, one.evidence.people), numbers.size - 1)
        there = (numbers[at] == one.evidence.people) & one.real
        return np.where(there, codes[at], -1), there

    # Held against limits

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why the worst of it follows, the worst first."""
        order = np.argsort(-self._worst[0], kind="stable")[:EXPLAINED]
        return tuple(self._finding(int(at)).witness for at in order)

    def _finding(self, at: int) -> Finding:
        people, place, row = (int(one[at]) for one in self._last)
        chance, value = float(self._worst[0][at]), int(self._worst[1][at])
        one = self._judged[place]
        witness = Witness(self._derivation(one, people, row, value, chance))
        return Finding(self.attack, "value", (people,), one.number, value, chance, "sampled", witness)

    def _derivation(self, one: Judged, person: int, row: int, value: int, chance: float) -> tuple[Sentence, ...]:
        """How somebody comes to be likely to have a value: what their row shows, and what the model adds."""
        evidence, who = one.evidence, Person(person)
        entries = slice(int(evidence.starts[row]), int(evidence.starts[row + 1]))
        codes = evidence.codes[entries]
        where: Sentence = (f"In release {one.number} ", who)
        if isinstance(evidence, GroupEvidence | ColumnEvidence) and evidence.group is not None:
            where = (who, " is in ", Place(one.number, int(evidence.group[row]) + 1), " and")
        itself = float(evidence.plain[entries][codes == value][0])
        return (
            (*where, " has ", *one_of(codes.tolist(), SHOWN), "."),
            ("By the release alone ", Value(value), f" has probability {itself:.4g}."),
            (f"The model of what is likely for whom {self.model}.",),
            ("If it holds, ", who, " has ", Value(value), f" with probability {chance:.4g}."),
        )

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Whether anybody is above the limit if the model holds. Never `within`: that nobody is proves nothing."""
        judged = [] if limits.probability is None else [self._judge(limits.probability, most)]
        for name, limit in limits.columns or ():
            if limit is not None:
                one = self.of_column(name)._judge(limit, most)
                findings = tuple(finding.about(name) for finding in one.findings)
                judged.append(replace(one, words=f"Of '{name}' alone: {one.words}", findings=findings))
        return together(judged, most) if judged else Judgement("not asked", "No limit for probabilities was given.")

    def _judge(self, limit: Fraction, most: int) -> Judgement:
        chance = self._worst[0]
        above = np.flatnonzero(chance > float(limit) + BEYOND)
        people = count_of(chance.size, "person", "people")
        bar = limit_told(limit)
        twice = int((chance > 2 * float(limit) + BEYOND).sum())
        words = (
            f"Under a model that {self.model}, {above.size:,} of {people} are tied to a value with more than {bar} in "
            f"the last release they are in, {twice:,} with more than twice that. {self._expected()}"
        )
        ranked = above[np.argsort(-chance[above], kind="stable")][: max(most, 0)]
        findings = tuple(self._finding(int(at)) for at in ranked)
        if above.size and self._borne_out:
            told = f"{words} The releases bear the model out. That rests on it, and proves nothing about anybody."
            return Judgement("beyond", told, findings, above.size)
        doubt = (
            "" if self._borne_out else " The releases do not bear the model out: it predicts them no better than none."
        )
        return Judgement(
            "undecided", f"{words}{doubt} That proves nothing: another model may tell more.", findings, above.size
        )

    def tied(self, limits: Limits) -> pl.DataFrame:
        """Everybody above the limits in the last release they are in, each with the likeliest value."""
        frames = [] if limits.probability is None else [self._tied(limits.probability, None)]
        asked = ((name, limit) for name, limit in limits.columns or () if limit is not None)
        return tied_together([*frames, *(self.of_column(name)._tied(limit, name) for name, limit in asked)])

    def _tied(self, limit: Fraction, column: str | None) -> pl.DataFrame:
        chance, value, _ = self._worst
        above = chance > float(limit) + BEYOND
        people, place, _ = (one[above] for one in self._last)
        numbers = np.array([one.number for one in self._judged], dtype=np.int64)
        return tied_to(people, value[above], numbers[place], column=column)

    def _expected(self) -> str:
        last = self.releases.row(-1, named=True)
        return (
            f"In release {last['release']} top guesses are expected to be right for {last['expected']:.1%}, and for "
            f"{last['without']:.1%} without the person's own row."
        )

    @property
    def _borne_out(self) -> bool:
        """Whether the model predicts what releases show so much better than none that chance does not explain it."""
        return any(one.trained.gain > SURE * one.trained.gain_error for one in self._judged)


def _estimates(chance: Floats) -> Figures:
    count = chance.size
    unknown = np.full(count, -1, dtype=np.int64)
    kind = np.full(count, SAMPLED, dtype=np.int8)
    return Figures(kind, chance, np.zeros(count), np.ones(count), np.full(count, np.nan), unknown, unknown, ())


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The interval of 95 % for a share (Wilson 1927); from 0 to 1 where nothing was counted."""
    if not count:
        return 0.0, 1.0
    share, square = hits / count, NORMAL**2
    middle = (share + square / (2 * count)) / (1 + square / count)
    reach = NORMAL * sqrt(share * (1 - share) / count + square / (4 * count**2)) / (1 + square / count)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def difference(first: int, other: int, count: int) -> tuple[float, float]:
    """The interval of 95 % for the difference of two shares of the same people (Agresti and Min 2005).

    Of `count` people `first` have only the one, and `other` only the other of the two.
    """
    people, apart = count + 2, first - other  # half a person more in each of the four cells
    middle = apart / people
    reach = NORMAL * sqrt(first + other + 1 - apart**2 / people) / people
    return max(-1.0, middle - reach), min(1.0, middle + reach)
