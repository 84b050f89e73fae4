"""What an attack is, and what it finds.

Attack        `run(published, knowledge)` looks at what an outsider sees, and returns Findings
Findings      what one attack found; `judge(limits)` says whether that is within limits, beyond them or undecided
Finding       one thing found about somebody, with its Witness: a derivation in `sentences`
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import ClassVar, Literal

import polars as pl

from reissue.arrays.types import Ints
from reissue.attacks.sentences import Cell, Part, Value, Witness
from reissue.errors import InternalError, ParameterError
from reissue.model.assumptions import Assumption, AssumptionName
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published

Kind = Literal["exact", "bounded", "sampled", "undecided", "conditional"]
"""How sure a number is: computed exactly, a proven bound, an estimate with a standard error, not known, or so only if
what it rests on holds, which is in doubt."""

OfSets = Literal["tracks", "bridge", "none"]
"""What an attack does with releases of sets; see `Attack.sets`."""

POSTERIORS = pl.Schema(
    {
        "person": pl.String,
        "value": pl.String,
        "probability": pl.Float64,
        "kind": pl.String,
        "low": pl.Float64,
        "high": pl.Float64,
        "standard_error": pl.Float64,
        "fraction": pl.String,
    }
)
"""The columns of `Findings.posteriors`. `person` holds numbers (Int64) where the view was not built from names.
`probability` is the figure itself where `kind` is exact, the estimate where it is sampled, and otherwise the
largest it can be; `low` and `high` are proven bounds; `fraction` is the exact figure, as in `6/7`."""

OF_COLUMN = pl.Schema(
    {
        "person": pl.Int64,
        "position": pl.Int64,
        "release": pl.Int64,
        "probability": pl.Float64,
        "kind": pl.String,
        "low": pl.Float64,
        "high": pl.Float64,
    }
)
"""The columns of `Findings.column_figures`: people by number, the positions of values in the column, and the release
that it is said of, null where that is always. Of whoever may be in no release, figures are those if they are in one."""

SUPPOSED = pl.Schema({"person": pl.Int64, "release": pl.Int64})
"""The columns of `Findings.supposed`."""

OF_GROUPS = pl.Schema(
    {
        "release": pl.Int64,
        "group": pl.Int64,
        "column": pl.String,
        "value": pl.Int64,
        "probability": pl.Float64,
        "kind": pl.String,
        "what": pl.String,
        "rests_on": pl.String,
        "begins": pl.String,
        "goes_on": pl.String,
        "ends": pl.String,
    }
)
"""The columns of `Findings.of_groups`: groups are counted from 1; `value` is a position in the view or, where `column`
names one of several sensitive columns, in that column. The derivation is `begins`, the value, `goes_on` and, unless
`ends` is null, the value again and that."""


@dataclass(frozen=True)
class Limits:
    """How much may be learnt. What is None is not asked."""

    probability: Fraction | None = None
    """The largest probability with which anybody may be tied to a value."""
    equivalence: int | None = None
    """The smallest size of two sets of people that may be found to have the same values."""
    diversity: int | None = None
    """The smallest number of values that may be left for anybody who compares two releases."""
    history_diversity: int | None = None
    """The smallest number of values that must be possible for everybody when all releases are taken together. That is
    more than `diversity`: what three releases rule out, no two of them need to."""
    correlation: int | None = None
    """The smallest size of two sets of people that comparing two groups may show to have the same values."""
    credibility: Fraction | None = None
    """The largest probability with which anybody may be tied to a protected set of values; None: as for a value."""
    columns: tuple[tuple[str, Fraction | None], ...] | None = None
    """Where several columns are sensitive: the largest probability with which anybody may be tied to a value of each,
    None where nobody may be certain and no more is asked."""


@dataclass(frozen=True)
class Finding:
    """One thing found about somebody."""

    attack: str
    what: str
    """`value`: tied to a value; `excluded`: values are ruled out; `equivalence`, `correlation`, `channel`."""
    people: tuple[int, ...]
    """The people concerned by number, the most exposed first."""
    release: int | None
    """The release that completes it, where that is known."""
    value: int | None
    """The position of the value in the view, where it is about one."""
    probability: float | None
    """With what probability, where it is about one."""
    kind: Kind
    witness: Witness
    column: str | None = None
    """The sensitive column that it is about, where it is about one of several; then `value` is None."""
    among: tuple[int, ...] = ()
    """The positions of the values that the people are said to have one of, in the view or, where `column` names one,
    in that column; empty where that is `value` alone, or where it is about no values."""
    rests_on: tuple[AssumptionName, ...] = field(default=(), compare=False)
    """The assumptions that it needs, beside that the files are what was published."""
    supposed: bool = False
    """Whether it is so only if the person is in a release, which is not known."""

    @classmethod
    def of_few(
        cls,
        attack: str,
        person: int,
        release: int | None,
        values: Collection[int],
        witness: Witness,
        *,
        several: str = "excluded",
        proven: bool = True,
    ) -> Finding:
        """Somebody for whom few values are left: one of them is at least as likely as one over their number.

        `several` says what it is called where they are more than one, `proven` whether one alone is proven.
        """
        one = len(values) == 1
        what, value = ("value", next(iter(values))) if one else (several, None)
        kind: Kind = "exact" if one and proven else "bounded"
        among = tuple(sorted(values))
        return cls(attack, what, (person,), release, value, 1 / len(values), kind, witness, among=among)

    @property
    def person(self) -> int | None:
        """The most exposed; None where it is not known who is in which group."""
        return self.people[0] if self.people else None

    def about(self, column: str) -> Finding:
        """A finding of a view of one sensitive column, told of the view of all: its values are that column's."""

        def part(one: Part) -> Part:
            return Cell(column, one.position) if isinstance(one, Value) else one

        sentences = (tuple(part(piece) for piece in sentence) for sentence in self.witness.sentences)
        among = self.among if self.value is None else (self.value,)
        return replace(self, value=None, witness=Witness(tuple(sentences)), column=column, among=among)


@dataclass(frozen=True)
class Judgement:
    """What an attack found, held against limits."""

    status: Literal["within", "beyond", "undecided", "sampled", "not asked"]
    """`within` needs a proof; `sampled` is within by estimate only; `beyond` is proven, or estimated to be far beyond:
    the kind of the findings says which."""
    words: str
    """The finding in plain words, with counts."""
    findings: tuple[Finding, ...] = ()
    """What is beyond the limits, the worst first; at most as many as were asked for."""
    count: int = 0
    """How many there are in all."""


def together(judged: list[Judgement], most: int) -> Judgement:
    """Several judgements as one: the worst counts, and the words of all are told."""
    ranked = ("beyond", "undecided", "sampled", "within")
    status = min((one.status for one in judged), key=ranked.index)
    every = [finding for one in judged for finding in one.findings]
    findings = tuple(sorted(every, key=lambda finding: -(finding.probability or 0.0))[: max(most, 0)])
    return Judgement(status, " ".join(one.words for one in judged), findings, sum(one.count for one in judged))


def need_whole(value: object, name: str, of: str) -> None:
    """Refuse what is no whole number of at least 1, such as a number of values."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ParameterError(
            f"The '{name}' parameter of {of} must be a whole number of at least 1. Got {value!r} instead."
        )


class Findings(ABC):
    """What one attack found."""

    attack: ClassVar[str]
    published: Published
    searched: tuple[str, ...]
    """What was searched completely, in plain words."""
    undecided: tuple[str, ...]
    """What was not, and why."""
    dated: bool = False
    """Whether each thing is said of one release only, whatever the attack takes to be static."""

    @property
    def posteriors(self) -> pl.DataFrame:
        """For each person and value still possible how likely it is; see `POSTERIORS`. Empty where not computed."""
        return pl.DataFrame(schema=POSTERIORS)

    def posteriors_in(self, release: int, people: Ints) -> pl.DataFrame | None:
        """The same of some people, by number, in one release; None where nothing is told of one."""
        told = self.posteriors
        if "release" not in told.columns:
            return None
        view = self.published
        names = [view.name(number) for number in people.tolist()]
        return told.filter(pl.col("release") == release).filter(pl.col("person").is_in(names))

    @property
    def certain(self) -> dict[str | int, object]:
        """The people who can have one value only, with that value: proven. By name, or by number."""
        return {}

    @property
    def excluded(self) -> dict[str | int, list[object]]:
        """For people the values that one of their groups shows and that they cannot have: proven."""
        return {}

    @property
    def ruled_out(self) -> pl.DataFrame | None:
        """What `excluded` has, as one table; see `tied.TIED`. None: there is no faster way to it."""
        return None

    def tied(self, limits: Limits) -> pl.DataFrame | None:
        """Who is tied to which value beyond the limits, everybody; see `tied.TIED`. None: as `posteriors` has it."""
        return None

    def column_figures(self, column: str) -> pl.DataFrame | None:
        """How likely everybody's likeliest value of one of several sensitive columns is; see `OF_COLUMN`. None: that is
        not worked out."""
        return None

    def tables(self, limits: Limits) -> Mapping[str, pl.DataFrame]:
        """Figures of its own that a report shows as a section, by their heading; none by default."""
        return {}

    def of_groups(self, limits: Limits) -> pl.DataFrame | None:
        """Everything beyond the limits that groups in which nobody is known tell by themselves, the worst first; see
        `OF_GROUPS`. None: there is no faster way to it than `judge`."""
        return None

    def beside_groups(self, limits: Limits) -> tuple[Finding, ...]:
        """What `judge` tells and `of_groups` does not have, everything."""
        return ()

    @property
    def supposed(self) -> pl.DataFrame:
        """People of whom what is told supposes that they are in a release, which is not known: each `person`, by
        number, with the `release` that it is said of, null for all; none by default."""
        return pl.DataFrame(schema=SUPPOSED)

    @property
    def as_published(self) -> Findings:
        """The same with cells taken as they are published, where these are in doubt."""
        return self

    @property
    def linked_rows(self) -> tuple[int, int] | None:
        """How many rows can be followed into the next release, of how many; None: that was not looked at."""
        return None

    @property
    @abstractmethod
    def witnesses(self) -> tuple[Witness, ...]:
        """Why the worst of it follows, the worst first."""

    @property
    def disproved(self) -> tuple[Assumption, ...]:
        """What was assumed and the releases contradict, as was seen on the way; none by default."""
        return ()

    def withdrawn(self) -> Findings:
        """What is left without what is `disproved`."""
        return self

    @property
    def refutation(self) -> str:
        """Why what was said cannot be so, as a sentence without its full stop; empty: nothing speaks against it."""
        return ""

    def findings_about(self, people: Sequence[int], limits: Limits) -> tuple[Finding, ...]:
        """The findings about some people, by number, who are beyond the limits; none where it tells only the worst."""
        return ()

    @abstractmethod
    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Hold what was found against limits; return at most so many findings."""


class Attack(ABC):
    """Something that looks at releases as an outsider does.

    Everything that others need to know about it is said here, in its own file: what it judges by, what it can prove,
    and the words for it. An attack that declares nothing proves nothing: its findings count, its silence does not.
    """

    name: ClassVar[str]
    """Its name in a policy file and in reports."""
    words: ClassVar[str]
    """What it does, in one or two sentences; reports and the command line say it."""
    judges: ClassVar[tuple[str, ...]] = ()
    """The limits that it judges by, as `Limits` calls them: without any of them it is not asked. None: by all."""
    proves: ClassVar[tuple[str, ...]] = ()
    """The limits that it can prove to be kept. What it does not find of other limits, a stronger argument may."""
    tells: ClassVar[tuple[str, ...]] = ()
    """Limits that it does not judge by, and beside which what it finds is worth telling."""
    takes: ClassVar[Mapping[str, str]] = {}
    """Parameters that follow from a limit where the user says nothing: `{"e": "equivalence"}`."""
    rests_on: ClassVar[tuple[AssumptionName, ...]] = ()
    """The assumptions without which nothing that it concludes from several releases holds."""
    alone: ClassVar[tuple[AssumptionName, ...]] = ()
    """Those of them without which it still looks at each release alone; where another falls it is not run."""
    helped_by: ClassVar[tuple[AssumptionName, ...]] = ()
    """What it concludes more from where somebody says so, and does without otherwise."""
    static: ClassVar[bool] = False
    """Whether it takes everybody's value to be the same in all releases."""
    changes: ClassVar[bool] = False
    """Whether it does not where `Knowledge.change` says how values change."""
    argues: ClassVar[bool] = False
    """Whether it argues from the values that counterfeits cannot have; see `Knowledge.counterfeits`."""
    sets: ClassVar[OfSets] = "bridge"
    """What it does with releases that show everybody with a set of values, one of them true. `tracks`: it is made for
    them, and proves nothing about others; `bridge`: it takes each set for a group of its own, where no set was ever
    renewed; `none`: it has nothing to compare there."""
    knows_quasi: ClassVar[bool] = False
    """Whether it argues from people's quasi-identifiers: the view of a series then has those of releases of groups."""
    by_default: ClassVar[bool] = False
    """Whether it is part of every audit and every gate that names no attacks."""
    nameless: ClassVar[bool] = False
    """Whether it is for releases in which nobody is known by name: by default it is part of their audits only."""

    @abstractmethod
    def run(self, published: Published, knowledge: Knowledge | None = None) -> Findings:
        """Attack a series."""

    def run_alone(self, published: Published, knowledge: Knowledge | None = None) -> Findings:
        """Attack each release by itself, where values do not stay and releases must not be put together."""
        raise InternalError(f"{self.name} does not look at releases alone")


def can_prove(attack: Attack | type[Attack], *, permanent: bool = False, sets: bool = False) -> bool:
    """Whether what an attack proves counts: where all but `permanent` values may change, where releases show `sets`."""
    if sets or attack.sets == "tracks":
        return sets and attack.sets == "tracks"
    return not (permanent and attack.static)


def is_asked(attack: Attack | type[Attack], limits: Limits) -> bool:
    """Whether there is a limit that an attack judges by."""
    names = attack.judges or tuple(field.name for field in fields(Limits))
    return any(getattr(limits, limit) is not None for limit in names)
