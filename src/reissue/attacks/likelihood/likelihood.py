"""Likelihood: what is likely for whom, learnt from the releases themselves or from elsewhere.

D. Kifer: Attacks on Privacy and deFinetti's Theorem (SIGMOD 2009), and its kin.

Who attacks: somebody who has all public files and knows people's quasi-identifiers, and nobody's value. What they do:
they learn p(value | quasi-identifiers), from what the releases themselves show, from another table, or have a model of
their own, and apply it to everybody's set or group: what is implausible at an age does not count as an alternative.

What they learn: for everybody how likely each value is, given the model; how often the likeliest is expected to be
right; and how often the same model is right *without* the person's own row, from their quasi-identifiers alone. The
difference is what the release adds about that person; the rest is what anybody learns who has any statistics at all,
and no method that leaves them true can take it away.

Models learnt from a release never saw the rows that they are applied to: people (of groups: whole groups) are dealt
into folds. How far a model is trusted is read off how well it predicts what other folds show.

It is an estimate: it rests on a model, proves nothing, and is in no audit and no gate that does not name it. Every
release is judged by itself. What several releases tell together under a model is for `Tracking`.

    the paper                                       here
    the sanitised data                              the releases: groups, anatomised or generalised; sets
    naive Bayes, graphical model of tuples          NaiveBayes, a power in place of its independence
    exchangeable permutations within a bucket       sums over all ways in small groups; else scaled
    re-estimation until it settles                  20 rounds of counting
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.attacks.base import Attack, OfSets
from reissue.attacks.likelihood import likelihood_given as given_models
from reissue.attacks.likelihood.likelihood_bayes import Model
from reissue.attacks.likelihood.likelihood_columns import Columns
from reissue.attacks.likelihood.likelihood_evidence import Evidence, evidence_of, quasi_of
from reissue.attacks.likelihood.likelihood_findings import LikelihoodFindings
from reissue.attacks.likelihood.likelihood_judged import Judged, judged
from reissue.attacks.likelihood.likelihood_learning import as_they_are, calibrated, folds, learnt
from reissue.errors import ParameterError, count_of, listed
from reissue.model.knowledge import Knowledge
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups
from reissue.model.sets import PublishedSets
from reissue.reasoning.worlds.residual import without
from reissue.tables.frames import READABLE, read_table
from reissue.tables.set_views import record_labels

LEARNED = "learned"


@dataclass(frozen=True)
class Likelihood(Attack):
    """What is likely for whom: a model of values given quasi-identifiers, applied to everybody's set or group."""

    name: ClassVar[str] = "Likelihood"
    words: ClassVar[str] = (
        "A model of which values are likely for whom, learnt from other people's rows or from elsewhere, applied to "
        "everybody's set or group; and the same guess without their own row. It rests on the model and proves nothing."
    )
    judges: ClassVar[tuple[str, ...]] = ("probability", "columns")
    sets: ClassVar[OfSets] = "tracks"
    knows_quasi: ClassVar[bool] = True

    model: Any = LEARNED
    """Where p(value | quasi-identifiers) comes from: "learned", from each release itself; a table of other people with
    their values; a mapping from cells of the `given` columns to chances by value; or a function that is called with the
    quasi-identifiers of a release and returns chances, a column for each value."""
    given: Sequence[str] | str | None = None
    """The columns that the model looks at; None: all that are published."""
    value: str | None = None
    """In a table of other people the column with their values; None: the only one that is no quasi-identifier."""
    people: Any = None
    """A table of people's quasi-identifiers, with a column `person` that calls them as the view does, in place of what
    the view has: for views without them, and for sets whose quasi-identifiers are regions."""
    folds: int = 5
    """How many parts people are dealt into; a model for each is learnt from the others."""
    smoothing: float = 20.0
    """So many rows that look like all rows together are added to those of each value."""
    calibrated: bool = True
    """Whether naive Bayes is trusted as far only as it predicts rows that it was not counted from, of the release or of
    the other table. A model of one's own is taken as it is."""
    seed: int = 0
    """How people are dealt into folds."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        if isinstance(self.model, str) and self.model != LEARNED and not _is_file(self.model):
            validation.wrong("model", '"learned", a table or the path of one, chances by cell, or a function')
        if isinstance(self.given, str):
            validation.replace("given", (self.given,))
        elif self.given is not None:
            named = isinstance(self.given, Sequence) and all(isinstance(one, str) for one in self.given)
            if named and self.given:
                validation.replace("given", tuple(self.given))
            else:
                validation.wrong("given", "a list of at least one column, or None")
        if isinstance(self.model, Mapping) and self.given is None:
            validation.wrong("given", "a list of the columns whose cells 'model' has")
        if self.value is not None and not isinstance(self.value, str):
            validation.wrong("value", "the name of a column, or None")
        validation.whole("folds", least=2)
        validation.real("smoothing", above=0)
        validation.flag("calibrated")
        validation.whole("seed", least=0)
        validation.finish()

    def __hash__(self) -> int:
        return hash((self.name, self.told, self.given, self.folds))

    @property
    def _learns(self) -> bool:
        return isinstance(self.model, str) and self.model == LEARNED

    @property
    def told(self) -> str:
        """Where the model comes from, in a few words."""
        if self._learns:
            return "was learnt from other people's rows of the same release"
        if isinstance(self.model, Mapping):
            return "is the adversary's own, by cell"
        return "is the adversary's own" if _is_function(self.model) else "was counted from another table"

    def run(self, published: Published, knowledge: Knowledge | None = None) -> LikelihoodFindings:
        """Apply the model to every release by itself."""
        knowledge = knowledge or Knowledge()
        if not published.exact or not (published.single or published.sets):
            raise ParameterError("Likelihood needs to know of groups who is in which, with one value each.")
        known = knowledge.known_values(published) if knowledge.compromised else None
        seen = published if known is None or published.sets else without(published, *known)
        shown: list[PublishedGroups | PublishedSets] = [*seen.plain, *published.sets]
        releases = sorted(shown, key=lambda one: one.number)
        table = None if self.people is None else _known_people(read_table(self.people)[0], published)
        found, bare = [], []
        for release in releases:
            # Whoever says what they know of people knows that, and not the regions that a release has of them.
            quasi = quasi_of(release) if table is None else _looked_up(release, table)
            if quasi is None or not quasi.width:
                bare.append(release.number)
            elif _size(release):
                found.append(self._judged(release, quasi, published))
        if not found:
            raise ParameterError(
                "Likelihood argues from people's quasi-identifiers, and this view does not have them.",
                hint="make it with series.published(quasi=True), or say them: Likelihood(people=...).",
            )
        nobody = np.zeros(0, dtype=np.int64)
        return LikelihoodFindings(
            published, tuple(found), model=self.told, bare=tuple(bare), known=nobody if known is None else known[0]
        )

    def _judged(self, release: PublishedGroups | PublishedSets, quasi: pl.DataFrame, published: Published) -> Judged:
        evidence = evidence_of(release, len(published.values))
        columns = Columns.of(quasi, self.given)
        fold = self._folds(evidence)
        if self._learns:
            models = learnt(evidence, columns, len(published.values), self.smoothing, fold)
            trained = (calibrated if self.calibrated else as_they_are)(evidence, models, fold, self.seed)
        else:
            trained = as_they_are(evidence, [self._stated(columns, quasi, published)], fold, self.seed)
        return judged(evidence, trained, sets=isinstance(release, PublishedSets))

    def _folds(self, evidence: Evidence) -> Ints:
        """By unit."""
        units = int(evidence.unit[-1]) + 1
        if not self._learns:
            return np.zeros(units, dtype=np.int64)
        if units < 2:
            raise ParameterError(
                f"Release {evidence.number} has one group only, so that there are no others to learn from.",
                hint="give a model: a table of other people with their values.",
            )
        return folds(units, self.folds, self.seed)

    def _stated(self, columns: Columns, quasi: pl.DataFrame, published: Published) -> Model:
        """The model that was brought, for the rows of a release."""
        values = published.values
        if isinstance(self.model, Mapping):
            return given_models.from_cells(self.model, tuple(self.given or ()), quasi, values)
        if _is_function(self.model):
            asked = quasi if self.given is None else quasi.select(self.given)
            return given_models.from_function(self.model, asked, values)
        table = read_table(self.model)[0]
        names = [column.name for column in published.columns]
        lacking = [name for name in names if name not in table.columns]
        if lacking and self.value is None:
            raise ParameterError(
                f"The table in 'model' lacks {listed(lacking)}: several columns are sensitive, and all are needed.",
                hint=f"give it {listed(names)} beside the quasi-identifiers.",
            )
        if names and not lacking:
            own = pl.Series(record_labels(table, names), dtype=pl.String)
        else:
            own = table[given_models.value_column(table, self.value, quasi)]
        codes = given_models.coded(own, values)
        seed = self.seed if self.calibrated else None
        return given_models.from_table(table, codes, columns, len(values), self.smoothing, seed)


def _is_function(model: object) -> bool:
    # Tables of some libraries can be called; they have columns too.
    return isinstance(model, Callable) and not hasattr(model, "columns")  # type: ignore[arg-type]


def _is_file(name: str) -> bool:
    return name.lower().endswith(READABLE)


def _size(release: PublishedGroups | PublishedSets) -> int:
    return release.people.size if isinstance(release, PublishedSets) else release.members.size


def _known_people(table: pl.DataFrame, published: Published) -> pl.DataFrame:
    """What is known of people, by number."""
    if "person" not in table.columns or table.width < 2:
        raise ParameterError(
            "The 'people' parameter of Likelihood must be a table with a column 'person' and quasi-identifiers."
        )
    numbers = [published.number(person) for person in table["person"].to_list()]
    told = table.drop("person").with_columns(pl.Series("", numbers, dtype=pl.Int64)).filter(pl.col("") >= 0)
    if told[""].n_unique() < told.height:
        raise ParameterError("The 'people' parameter of Likelihood has somebody twice.")
    return told


def _looked_up(release: PublishedGroups | PublishedSets, table: pl.DataFrame) -> pl.DataFrame:
    who = release.people if isinstance(release, PublishedSets) else release.members
    rows = pl.DataFrame({"": who.astype(np.int64)})
    lacking = rows.filter(pl.col("") >= 0).join(table, on="", how="anti").height
    if lacking:
        raise ParameterError(
            f"The 'people' parameter of Likelihood lacks {count_of(lacking, 'person', 'people')} of release "
            f"{release.number}."
        )
    return rows.join(table, on="", how="left", maintain_order="left").drop("")
