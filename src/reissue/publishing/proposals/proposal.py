"""From tables to a proposed policy, which was tried on the first of them.

    found = propose([Path("january.csv")], "policy.toml")
    found.text, found.files          # the policy, and hierarchies beside it
    found.guesses, found.answered    # what was guessed, and what was asked or taken

What is proposed can be published: a draft of the first table is made under it and thrown away; of sets of records,
whose draft takes long, its parts. Where a method refuses the table, the next one is tried, and the policy says why.
Where none is left, that is said instead of writing a policy.
"""

from __future__ import annotations

import gzip
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import polars as pl

from reissue.errors import Infeasible, ReissueError, TableError, count_of, listed, printable
from reissue.model.schema import RESERVED
from reissue.model.toml_text import quoted
from reissue.publishing.checking.looking_ahead import costs_ahead, looking_ahead
from reissue.publishing.checking.thresholds import Checks
from reissue.publishing.policy import Policy
from reissue.publishing.proposals import methods_in_words
from reissue.publishing.proposals.choosing_method import NAMED, Sets, largest_m, rare_share, several_sets, single_sets
from reissue.publishing.proposals.column_facts import Facts, changing, see, together
from reissue.publishing.proposals.column_names import SENSITIVE, meaning_of
from reissue.publishing.proposals.drawn_hierarchies import Drawn, drawn_for
from reissue.publishing.proposals.judging import Guess, Role, judge, kind_of
from reissue.publishing.proposals.people_and_events import Who, find_people, one_row_each
from reissue.publishing.proposals.policy_text import Draught, Method, file_name, policy_text
from reissue.publishing.proposals.proposal_questions import Answer, Answered, Asking, Question, parts
from reissue.publishing.proposals.returning import asked_to_return, least_returning
from reissue.publishing.proposals.seen_changes import Changes, changes_in
from reissue.publishing.proposals.told_columns import told_columns
from reissue.publishing.series import draft
from reissue.tables.coding import code_table
from reissue.tables.frames import read_table
from reissue.tables.one_event import one_event_each

MOST_ASKED = 12
"""About so many uncertain columns somebody is asked; of the others the guess is taken, and said."""
FINE = 50
"""A sensitive column with more different days, or more different decimals, is too fine for sets."""
K = 10
Progress = Callable[[str], None]


@dataclass(frozen=True, repr=False)
class Proposal:
    """A policy that was proposed and tried, and what it rests on."""

    text: str
    """The policy file."""
    files: Mapping[str, str]
    """The hierarchies beside it, by their names."""
    guesses: tuple[Guess, ...]
    method: Method
    answered: tuple[Answered, ...]
    """Everything that was asked, or taken without asking."""
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    """What is wrong with it or with the tables, and must not be overlooked."""
    changes: Changes | None
    rows: int
    """How many rows the draft of the first table has."""

    def __repr__(self) -> str:
        return f"Proposal({self.method.name}, {len(self.guesses):,} columns)"

    @property
    def policy(self) -> Policy:
        """The policy that the file says, hierarchies included."""
        return read_with(self.text, self.files)

    @property
    def lost(self) -> tuple[Guess, ...]:
        """What looks sensitive and is left out."""
        return tuple(guess for guess in self.guesses if guess.lost)


def read_with(text: str, files: Mapping[str, str]) -> Policy:
    """A policy, with the hierarchies that lie beside it."""
    with tempfile.TemporaryDirectory(prefix="reissue-init-") as folder:
        for name, content in {**files, "policy.toml": text}.items():
            Path(folder, name).write_text(content, encoding="utf-8")
        return Policy.read(Path(folder, "policy.toml"))


def propose(
    tables: Sequence[Path | pl.DataFrame],
    out: str = "policy.toml",
    *,
    answer: Answer | None = None,
    moves: str | None = None,
    progress: Progress = lambda stage: None,
) -> Proposal:
    """A policy for these tables, states of one in order; `answer` is asked what is uncertain, and without it defaults
    are taken. `moves` is the command that counts how values move, for a comment."""
    frames, as_written = _read(tables, progress)
    progress("Looking at columns")
    facts = see(frames, as_written=as_written)
    _check_columns(facts)
    asking = Asking(answer)
    who = find_people(frames, facts, asking)
    whole = together(frames)
    shares, pairs = changing(whole, who.person)
    guesses = judge(whole, facts, who, shares if pairs >= 20 else {})
    guesses = _asked_roles(guesses, facts, asking)
    guesses = _with_a_quasi(guesses, facts, who)
    states = [one_row_each(frame, who) for frame in frames]
    _check_roles(guesses, states[0])
    hierarchies = _hierarchies(guesses, facts, whole, Path(out).stem)
    used = {name for name, (_, drawn) in hierarchies.items() if drawn.used}
    guesses = {name: replace(one, kind="hierarchy") if name in used else one for name, one in guesses.items()}
    found = _Search(tables, frames, states, facts, who, guesses, hierarchies, asking, moves, progress)
    return found.proposal()


def _read(tables: Sequence[Path | pl.DataFrame], progress: Progress) -> tuple[list[pl.DataFrame], bool]:
    """The tables, and whether every column of them can be read as it is written."""
    frames = []
    for table in tables:
        progress(f"Reading {table.name}" if isinstance(table, Path) else "Reading")
        frame, _ = read_table(table)
        if frame.height == 0:
            raise TableError("The table has no rows to guess from.")
        if isinstance(table, Path) and _headless(frame):
            raise TableError(
                f"The first line of '{printable(table.name)}' seems to be somebody's record, and not the names of "
                "columns: most of what stands there occurs again below.",
                hint="give the file a first line with the name of each column.",
            )
        if isinstance(table, Path) and _as_written(table) and _zeros_before_digits(table):
            whole = [column.name for column in frame if column.dtype.is_integer()]
            written, _ = read_table(table, text=whole)
            texts = [written[name] for name in whole]
            # 02003 is a code, not the number 2003.
            frame = frame.with_columns(
                one for one in texts if one.dtype == pl.String and one.str.contains(r"^0\d").any()
            )
        frames.append(frame)
    return frames, all(map(_as_written, tables))


def _headless(frame: pl.DataFrame) -> bool:
    """Whether names of columns are rather values of them."""
    texts = frame.head(10_000).select(pl.all().cast(pl.String, strict=False))
    return 2 * sum(bool((column == column.name).any()) for column in texts) > texts.width


def _zeros_before_digits(table: Path) -> bool:
    """Whether some cell of a CSV file begins with a zero and another digit; without one there are no such codes."""
    before = b"\n"
    with gzip.open(table, "rb") if table.name.lower().endswith(".gz") else table.open("rb") as file:
        while piece := file.read(1 << 22):
            if _ZERO.search(before + piece):
                return True
            before = piece[-3:]
    return False


_ZERO = re.compile(rb"[,;\n]\"?0[0-9]")


def _as_written(table: Path | pl.DataFrame) -> bool:
    """Whether columns can be read as they are written."""
    return isinstance(table, Path) and table.name.lower().endswith((".csv", ".csv.gz"))


def _check_columns(facts: Mapping[str, Facts]) -> None:
    odd = [name for name in facts if not name or name == "*" or "\0" in name or name.startswith(("^", RESERVED))]
    if odd:
        raise TableError(
            f"There are columns to rename: {listed(odd)}.",
            hint=f"a name must not be empty or '*', or begin with '^' or '{RESERVED}'.",
        )
    if len(facts) < 3:
        raise TableError("A policy needs a person, a quasi-identifier and a sensitive column: three columns at least.")


def _check_roles(guesses: Mapping[str, Guess], first: pl.DataFrame) -> None:
    roles = {guess.role for guess in guesses.values()}
    lacking = [words for role, words in _LACKING.items() if role not in roles]
    if lacking:
        raise TableError(
            f"Nothing can be published of this table: no column is left that could be {' or '.join(lacking)}.",
            problems=[f"'{one.column}': {one.why}" for one in guesses.values() if one.role == "drop"][:12],
            hint="a release needs a column that an outsider may know, such as age or sex, and one that must not be "
            "tied to a person; rename or add columns, or write the policy by hand.",
        )
    if first.height < 2:
        raise TableError(
            "Nothing can be published of this table: it has one row, and nobody can be hidden among others.",
            hint="propose a policy from a table with more people.",
        )


_LACKING = {"quasi": "a quasi-identifier", "sensitive": "sensitive"}


def _asked_roles(guesses: dict[str, Guess], facts: Mapping[str, Facts], asking: Asking) -> dict[str, Guess]:
    """With what somebody says about columns that are uncertain."""
    unsure = [one for one in guesses.values() if one.confidence == "low" and one.role in ("quasi", "sensitive", "drop")]
    changed = dict(guesses)
    for place, guess in enumerate(unsure):
        question = Question(
            f"role of {guess.column}",
            f"What is '{guess.column}'? Guessed: {_IN_WORDS[guess.role]}; {guess.why}.",
            (
                ("quasi", "an outsider may know it"),
                ("sensitive", "it must not be tied to a person"),
                ("drop", "it is not published"),
            ),
            guess.role,
            taken=f"'{guess.column}' is taken for {_IN_WORDS[guess.role]}: {guess.why}",
        )
        if place >= MOST_ASKED:
            continue
        answer = asking.ask(question)
        if answer != guess.role:
            role: Role = "quasi" if answer == "quasi" else "sensitive" if answer == "sensitive" else "drop"
            kind = "" if role == "drop" else kind_of(facts[guess.column])
            changed[guess.column] = Guess(guess.column, role, kind, "as answered", "high", rank=6)
        elif asking.answer is not None:
            changed[guess.column] = replace(guess, confidence="high", why=f"{guess.why}; confirmed")
    for other, words in _IN_WORDS.items():
        if rest := [one.column for one in unsure[MOST_ASKED:] if one.role == other]:
            taken = f"{count_of(len(rest), 'more column')} of low confidence, taken for {words}: {listed(rest)}"
            asking.assume(
                Question(f"roles: {other}", "What are the other columns?", ((other, words),), other, taken=taken)
            )
    return changed


_IN_WORDS = {"quasi": "a quasi-identifier", "sensitive": "sensitive", "drop": "something to leave out"}


def _with_a_quasi(guesses: dict[str, Guess], facts: Mapping[str, Facts], who: Who) -> dict[str, Guess]:
    """A table of ids, times and values alone: when something was is then what an outsider may know."""
    if who.events is None or any(guess.role == "quasi" for guess in guesses.values()):
        return guesses
    order = who.events.order
    if any(sense in meaning_of(order) for sense in SENSITIVE):
        return guesses
    why = "says when an event was; nothing else is left that an outsider may know"
    return {**guesses, order: Guess(order, "quasi", kind_of(facts[order]), why, "low")}


def _hierarchies(
    guesses: Mapping[str, Guess], facts: Mapping[str, Facts], whole: pl.DataFrame, stem: str
) -> dict[str, tuple[str, Drawn]]:
    made: dict[str, tuple[str, Drawn]] = {}
    for name, guess in guesses.items():
        if guess.role == "quasi" and (drawn := drawn_for(whole[name], facts[name])) is not None:
            made[name] = (file_name(stem, name, [file for file, _ in made.values()]), drawn)
    return made


@dataclass(frozen=True)
class _Attempt:
    """Sensitive columns and a method for them."""

    columns: tuple[str, ...]
    method: Method
    labels: bool
    """Whether the columns are labels, as sets need them."""
    note: str = ""
    """What must be said beside it."""


@dataclass(repr=False)
class _Search:
    """Looks for a method that takes the table, from the best one down."""

    tables: Sequence[Path | pl.DataFrame]
    frames: Sequence[pl.DataFrame]
    states: Sequence[pl.DataFrame]
    facts: Mapping[str, Facts]
    who: Who
    guesses: dict[str, Guess]
    hierarchies: Mapping[str, tuple[str, Drawn]]
    asking: Asking
    moves: str | None
    progress: Progress

    def proposal(self) -> Proposal:
        """The first attempt that the table takes."""
        self._leave_out_doubles()
        self._leave_out_told()
        ranked = self._ranked()
        self.progress("Choosing a method")
        why_not = "no sensitive column has labels that enough people share"
        refused: ReissueError | None = None
        for attempt in self._attempts(ranked, why_not):
            guesses = self._settled(attempt, ranked)
            draught = self._draught(attempt, guesses)
            self.progress(f"Trying {attempt.method.name}")
            made = self._tried(draught)
            if isinstance(made, int):
                ahead = self._ahead(draught)
                if not isinstance(ahead, ReissueError):
                    loud = [*([attempt.note] if attempt.note else []), *ahead, *self._costs(draught, ahead)]
                    return self._proposal(replace(draught, notes=(*draught.notes, *loud)), attempt, made, loud)
                made = ahead
            refused = made
        reasons = [] if refused is None else [refused.what, *refused.problems]
        raise Infeasible(
            "Nothing can be published of this table under any policy that was tried.",
            problems=reasons,
            hint="more people, coarser columns or another sensitive column may help; or write the policy by hand.",
        )

    def _leave_out_doubles(self) -> None:
        """Of two sensitive columns that say the same, as a code and its name do, one is enough."""
        first = self.states[0]
        names = [name for name, guess in self.guesses.items() if guess.role == "sensitive"]
        says = {name: _where_first(first[name]) for name in names}
        for one in names:
            for other in names:
                mine, theirs = self.guesses[one], self.guesses[other]
                same = self.facts[one].distinct == self.facts[other].distinct > 5
                if one == other or not same or {mine.role, theirs.role} != {"sensitive"}:
                    continue
                better = (theirs.rank, not self.facts[other].clinical, names.index(other)) < (
                    mine.rank, not self.facts[one].clinical, names.index(one),
                )  # fmt: skip
                if better and says[one] == says[other]:
                    why = f"says the same as '{other}', which is published"
                    self.guesses[one] = Guess(one, "drop", "", why, "high", lost=True)

    def _leave_out_told(self) -> None:
        """What an outsider surely knows must not tell a sensitive column: that is left out. What they may or may not
        know is left out itself, as it follows from what is sensitive."""
        quasi = [guess for guess in self.guesses.values() if guess.role == "quasi"]
        names = [name for name in self._ranked() if self.facts[name].labels]
        told = told_columns(self.states, {one.column: one.kind == "numeric" for one in quasi}, names)
        sure = {one.column for one in quasi if one.confidence == "high"}
        unsafe = {name for column, name in told if column in sure}
        if not set(self._ranked()) - unsafe:
            # Something has to be sensitive: then rather without the columns that tell it.
            unsafe.discard(next((name for name in self._ranked() if name in unsafe), ""))
        left = len(quasi)
        # Of what tells a column that is left out for it, one that stays is named.
        ordered = sorted(told.items(), key=lambda one: (one[0][1] not in unsafe, one[0][0] not in sure))
        for (column, name), (number, people) in ordered:
            words = f"of {number:,} of {people:,} people nearly for certain"
            if name in unsafe and self.guesses[name].role == "sensitive":
                why = f"{self.guesses[name].why}. '{column}', which is published, tells it {words}"
                self.guesses[name] = replace(self.guesses[name], role="drop", kind="", why=why, lost=True)
            elif self.guesses[name].role == "sensitive" and self.guesses[column].role == "quasi" and left > 1:
                left -= 1
                why = f"tells '{name}', which is sensitive, {words}"
                self.guesses[column] = replace(self.guesses[column], role="drop", kind="", why=why, confidence="medium")

    def _ranked(self) -> list[str]:
        """The sensitive columns, what is published rather first; of equal ones those without a very frequent value."""
        found = [guess for guess in self.guesses.values() if guess.role == "sensitive"]
        often = {name: facts.most > 0.75 * facts.rows for name, facts in self.facts.items()}
        ordered = [guess.column for guess in sorted(found, key=lambda guess: (guess.rank, often[guess.column]))]
        # diag_2 beside diag_1 adds less than something else does: of columns numbered through the first comes first.
        stems = [re.sub(r"[0-9]+", "", name.lower()) for name in ordered]
        again = [name for place, name in enumerate(ordered) if stems[place] in stems[:place]]
        return [*(name for name in ordered if name not in again), *again]

    def _for_sets(self, name: str) -> bool:
        """Whether sets can be made of a column's values: labels, or numbers and days that are few."""
        facts = self.facts[name]
        fine = facts.distinct > FINE and (
            facts.sort in ("date", "time") or facts.dates is not None or (facts.sort == "number" and not facts.whole)
        )
        return facts.labels and not fine

    def _attempts(self, ranked: list[str], why_not: str) -> Iterator[_Attempt]:
        people, later = self.states[0], self.states[1:]
        able = [name for name in ranked if self._for_sets(name)]
        offered = [name for name, one in self.guesses.items() if one.role == "quasi" and one.confidence == "low"]
        offered = [name for name in offered if "work" in meaning_of(name) and self._for_sets(name)]
        tried = False
        for names in (able, [*able, *offered] if offered else []):
            main = next((name for name in names if self._alone(name) is not None), None)
            for sets in self._choices(names, main):
                yield self._sets(sets)
                tried, why_not = True, "the draft of it was refused"
            if tried:
                break
        if able and not tried:
            why_not = (
                "the table is too small to give reference shares of its values with noise, one value is too frequent, "
                "or too many people have a rare one"
            )
        groups = list(self._groups(ranked, why_not, sets=bool(able)))
        steady = [one for one in groups if not self._changing(one.columns)]
        yield from steady
        for sets in several_sets(people, able, later, Fraction(1)):
            most = max(sets.limits.values())
            yield replace(
                self._sets(sets),
                note=f"some limits are as high as {most}, since one value is that frequent: for whoever knows much of "
                "the others it may be nearly certain. Nothing better was found; leave such a column out if you can.",
            )
        yield from (one for one in groups if one not in steady)
        for name in ranked[:3]:
            if people[name].n_unique() >= 2:
                for k in {min(K, people.height // 2 or 1): None, 2: None}:
                    yield _Attempt((name,), methods_in_words.mondrian(people[name], k, why_not, bool(able)), False)

    def _groups(self, ranked: Sequence[str], why_not: str, *, sets: bool) -> Iterator[_Attempt]:
        """Groups that protect a series, of the first column that can have them."""
        for name in ranked:
            values = self.states[0][name]
            if largest_m(values) >= 2:
                method = methods_in_words.m_invariance(values, why_not, self._changes([name]), sets)
                yield _Attempt((name,), method, False)
                return

    def _changing(self, columns: Sequence[str]) -> bool:
        """Whether so many values change that methods for groups would withhold too many people."""
        changes = self._changes(columns)
        return changes is not None and changes.changed > Checks().withheld * changes.people

    def _alone(self, name: str) -> Sets | None:
        """Sets of one column, if they can be had."""
        return single_sets(self.states[0][name], [state[name] for state in self.states[1:]])

    def _choices(self, able: list[str], main: str | None) -> Iterator[Sets]:
        """Sets of the columns that somebody wants, or else of those that fit best; then of fewer."""
        people, later = self.states[0], self.states[1:]
        single = None if main is None else self._alone(main)
        fitting = several_sets(people, able, later)
        best = next(fitting, None)
        if main is not None and able[0] != main:  # beside a column of many values more flags fit
            others = several_sets(people, [main, *(name for name in able if name != main)], later)
            other = next(others, None)
            if other is not None and (best is None or len(other.columns) > len(best.columns)):
                fitting, best = others, other
        if main is not None and best is not None and self._matters_more(main, best.columns):
            fitting, best = chain([best], fitting), single
        default = best or single
        wanted = None if default is None else self._wanted(default, able)
        if wanted is not None:
            chosen = several_sets(people, wanted, later) if len(wanted) > 1 else iter([self._alone(wanted[0])])
            yield from (one for one in chosen if one is not None)
        if best is not None:
            yield best
            yield from fitting
        if single is not None:
            yield single

    def _matters_more(self, name: str, others: Sequence[str]) -> bool:
        """Whether a column alone is published rather than some others together: a diagnosis before flags."""
        return name not in others and all(self.guesses[name].rank < self.guesses[one].rank for one in others)

    def _wanted(self, best: Sets, able: list[str]) -> list[str] | None:
        """The sensitive columns that somebody wants instead of those that fit best; None: these."""
        offered = [name for name in able if "," not in name and name == name.strip()]
        if any(one.question.key == "sensitive columns" for one in self.asking.answered):
            return None
        if len(able) < 2 or set(best.columns) - set(offered):
            return None
        default = ", ".join(best.columns)
        left = [name for name in self._ranked() if name not in best.columns]
        question = Question(
            "sensitive columns",
            f"Which sensitive columns are published? {len(left) + len(best.columns):,} columns look sensitive, and"
            f" {listed(best.columns)} fit together.",
            tuple((name, self.guesses[name].why) for name in offered),
            default,
            several=True,
            taken=f"sensitive: {listed(best.columns)}",
        )
        answer = parts(self.asking.ask(question))
        return None if not answer or set(answer) == set(best.columns) else [one for one in able if one in answer]

    def _sets(self, sets: Sets) -> _Attempt:
        k = self._regions()
        changes = self._changes(sets.columns)
        events = self.who.events is not None
        method = methods_in_words.alternatives(sets, k=k, changes=changes, events=events, command=self.moves)
        return _Attempt(sets.columns, method, True)

    def _regions(self) -> int | None:
        """How many people a region of quasi-identifiers has; None: they are published exactly. Asked once."""
        if self.states[0].height < 2 * K:
            return None
        given = [one.answer for one in self.asking.answered if one.question.key == "regions"]
        fine = any(drawn.used for _, drawn in self.hierarchies.values())
        answer = given[0] if given else self.asking.ask(
            Question(
                "regions",
                "Are quasi-identifiers published exactly, or as regions with several people each?",
                (
                    ("exact", "whoever knows them all finds the person's row; values stay among m"),
                    ("regions", f"of at least {K} people, cut without a look at values"),
                ),
                "regions" if fine else "exact",
                taken=f"quasi-identifiers are published as regions of at least {K} people, since days and postcodes "
                "are as good as names"
                if fine
                else f"quasi-identifiers are published exactly, and {self._standing_alone()}; k = {K} makes regions",
            )
        )  # fmt: skip
        return K if answer == "regions" else None

    def _standing_alone(self) -> str:
        """How many people of the first table are the only one with their quasi-identifiers."""
        first, known = self.states[0], [name for name, guess in self.guesses.items() if guess.role == "quasi"]
        alone = int(first.select(pl.struct(known).is_unique().sum()).item()) if known else 0
        if not alone:
            return "everybody shares theirs with somebody else in the first table"
        return (
            f"{alone:,} of {count_of(first.height, 'person', 'people')} {'is' if alone == 1 else 'are'} the only one "
            "with theirs: whoever knows somebody's finds their row, and their value among m"
        )

    def _changes(self, columns: Sequence[str]) -> Changes | None:
        return changes_in(self.states, self.who.person, columns) if len(self.states) > 1 else None

    def _settled(self, attempt: _Attempt, ranked: list[str]) -> dict[str, Guess]:
        """Roles under an attempt: what looks sensitive and has no place in it is left out, and that is said."""
        settled = dict(self.guesses)
        for name in ranked:
            guess = self.guesses[name]
            if name in attempt.columns:
                kind = "categorical" if attempt.labels or self._plain_labels(name) else "numeric"
                settled[name] = replace(guess, kind=kind)
                continue
            reason = f"{guess.why}. {self._no_place(name, attempt)}"
            settled[name] = replace(guess, role="drop", kind="", why=reason, lost=True)
        for name in set(attempt.columns) - set(ranked):
            why = f"it may be what the table is about, and what looks more sensitive does not fit; {self._values(name)}"
            settled[name] = replace(self.guesses[name], role="sensitive", kind="categorical", why=why)
        return settled

    def _plain_labels(self, name: str) -> bool:
        facts = self.facts[name]
        return (
            facts.labels
            and not (facts.sort == "number" and facts.distinct > FINE)
            and facts.sort not in ("date", "time")
        )

    def _no_place(self, name: str, attempt: _Attempt) -> str:
        beside = listed(attempt.columns, 6)
        if attempt.method.name != "Alternatives":
            return f"{attempt.method.name} takes one sensitive column, and {beside} is it"
        if not self._for_sets(name):
            return "Too fine for sets: put it in bands, such as years or thousands, to publish it"
        if any(rare_share(state[name]) > 1 - NAMED for state in self.states):
            return self._coarser(name)
        return f"No room beside {beside}"

    def _coarser(self, name: str) -> str:
        """What to do about a column of which too many people have a rare value."""
        told = "More than a third of people have a value too rare for sets"
        facts = self.facts[name]
        first, *later = (state[name].cast(pl.String) for state in self.states)
        for length in (4, 3, 2, 1) if facts.pattern else ():
            cut = first.str.slice(0, length)
            if cut.n_unique() == first.str.slice(0, length - 1).n_unique():
                continue  # the last one is a point
            if single_sets(cut, [one.str.slice(0, length) for one in later]) is not None:
                characters = f"first {length} characters" if length > 1 else "first character"
                return (
                    f"{told}; the {characters} of each code would do: pl.col({quoted(name)}).str.slice(0, {length}) in "
                    f"polars, =LEFT(A2, {length}) in Excel"
                )
        return f"{told}: put values in groups of some hundred people each, such as chapters or bands, to publish it"

    def _values(self, name: str) -> str:
        return count_of(self.facts[name].distinct, "distinct value")

    def _draught(self, attempt: _Attempt, guesses: Mapping[str, Guess]) -> Draught:
        names = [table.name if isinstance(table, Path) else "a table" for table in self.tables]
        return Draught(
            source=", ".join(names),
            guesses=tuple(guesses.values()),
            events=self.who.events,
            missing={name for name, facts in self.facts.items() if facts.missing},
            unseen={name for name, facts in self.facts.items() if facts.unseen} | self._new_to_people(guesses),
            hierarchies={name: one for name, one in self.hierarchies.items() if guesses[name].role == "quasi"},
            method=attempt.method,
            notes=tuple(self._notes(guesses.values())),
            checks=self._checks(),
        )

    def _new_to_people(self, guesses: Mapping[str, Guess]) -> set[str]:
        """What an outsider may know, with labels that nobody has in the first table: an event may have them there, but
        not one that stands for a person."""
        quasi = [name for name, guess in guesses.items() if guess.role == "quasi"]
        if self.who.events is None or len(self.states) == 1 or not quasi:
            return set()
        states = [state.select(one for one in quasi if one in state.columns) for state in self.states]
        first, whole = states[0], together(states)
        return {one for one in first.columns if whole[one].drop_nulls().n_unique() > first[one].drop_nulls().n_unique()}

    def _checks(self) -> dict[str, tuple[str, str]]:
        """Thresholds of checks that the tables given would not pass; said once."""
        share = least_returning(self.states, self.who.person)
        least = asked_to_return(share)
        if share is None or least is None:
            return {}
        why = f"{share:.1%} of the people of a table are in the next one, of those given; usually 20% must be"
        if not any(one.question.key == "ids return" for one in self.asking.answered):
            taken = (
                f"few people come back: {share:.1%} of a table are in the next one, so that `ids_return` is {least:g}. "
                "If they should, ids are not the same in all files: put that right before anything is published"
            )
            self.asking.assume(
                Question("ids return", "How many people come back?", ((f"{least:g}", why),), f"{least:g}", taken=taken)
            )
        return {"ids_return": (f"{least:g}", why)}

    def _notes(self, guesses: Iterable[Guess]) -> list[str]:
        spelt = [self._spelt(one.column) for one in guesses if one.role in ("quasi", "sensitive")]
        return [*self._stacked(), *filter(None, spelt)]

    def _spelt(self, name: str) -> str:
        """That labels of a column which is published differ in case or blanks alone; empty where none do."""
        labels = [state[name] for state in self.states if name in state.columns and state[name].dtype == pl.String]
        if not labels:
            return ""
        once = pl.concat(labels).drop_nulls().unique()
        plain = once.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
        more = once.len() - plain.n_unique()
        differ = f"{count_of(more, 'label differs', 'labels differ')} from {'another' if more == 1 else 'others'}"
        return "" if not more else f"'{name}': {differ} in case or blanks alone; write each in one way"

    def _stacked(self) -> list[str]:
        if not self.who.stacked or self.who.events is None:
            return []
        order = self.who.events.order
        return [
            f"the table looks like {self.frames[0][order].n_unique():,} states of one, put together by '{order}'. For "
            "a release of each, split it by that column and give the parts to `reissue init` and `publish` in order."
        ]

    def _tried(self, draught: Draught) -> int | ReissueError:
        """How many rows a draft of the first table has under the policy; or why there is none."""
        try:
            policy = self._policy(draught)
            if policy.schema.several:
                return self._read_under(policy)
            return int(draft(self._as_read(0, policy), policy).tables["table"].height)
        except ReissueError as error:
            return error

    def _read_under(self, policy: Policy) -> int:
        """How many rows the first table has under a policy for sets of records, whose noise and walks were tried
        already; to draw all sets and to check them takes a minute where there are many records."""
        return len(code_table(one_event_each(self._as_read(0, policy), policy.schema)[0], policy.schema).snapshot)

    def _ahead(self, draught: Draught) -> list[str] | ReissueError:
        """What checks will refuse of the tables, one after the other, whatever columns are published; or the refusal,
        where other columns may do."""
        policy = self._policy(draught)
        tables = [self._as_read(at, policy) for at in range(len(self.frames))]
        notes = []
        try:
            for number, failed in looking_ahead(tables, policy):
                if failed.name == "telling-column":
                    return Infeasible(f"Table {number} would fail a check before the commit.", problems=[str(failed)])
                notes.append(f"`publish` will refuse table {number} under this policy: {failed}.")
        except TableError as error:
            notes.append(f"`publish` will refuse a table under this policy: {' '.join([error.what, *error.problems])}")
        return notes

    def _costs(self, draught: Draught, said: Sequence[str]) -> list[str]:
        """What the checks of costs will refuse, from releases of all tables that are made and thrown away; what is
        `said` already is not said again.

        What `publish` would refuse only when the first release is out must be known before.
        """
        if len(self.frames) == 1:
            return []
        policy = self._policy(draught)
        tables = [self._as_read(at, policy) for at in range(len(self.frames))]
        self.progress("Rehearsing all tables")
        found: dict[str, list[tuple[int, str]]] = {}
        for number, why in costs_ahead(tables, policy):
            if isinstance(why, ReissueError):
                told = " ".join([why.what, *why.problems])
                if not any(one.endswith(told) for one in said):
                    found[""] = [(number, told)]
            else:
                found.setdefault(why.name, []).append((number, f"{why}."))
        return [_refused_tables(each) for each in found.values()]

    def _policy(self, draught: Draught) -> Policy:
        return read_with(policy_text(draught), {file: drawn.csv() for file, drawn in draught.hierarchies.values()})

    def _as_read(self, at: int, policy: Policy) -> pl.DataFrame:
        """A table as it is read under a policy: of a CSV file labels are text, whatever they look like."""
        frame = self.frames[at]
        if not _as_written(self.tables[at]):
            return frame
        return frame.with_columns(pl.col(name).cast(pl.String) for name in frame.columns if name in policy.schema.texts)

    def _told_of(self, attempt: _Attempt) -> list[Answered]:
        """What was asked or taken; what nobody answered, and came out otherwise, is said as it came out."""
        told = []
        for one in self.asking.answered:
            column = one.question.key.removeprefix("role of ")
            if (
                self.asking.answer is None
                and one.answer == "sensitive"
                and column in self.guesses
                and (column not in attempt.columns)
            ):
                continue  # it is not published, and the reason says so
            if self.asking.answer is None and one.answer == "quasi" and column in attempt.columns:
                taken = f"'{column}' is taken for sensitive: it may be what the table is about, and little else fits"
                told.append(Answered(replace(one.question, default="sensitive", taken=taken), "sensitive"))
            else:
                told.append(one)
        return told

    def _proposal(self, draught: Draught, attempt: _Attempt, rows: int, loud: Sequence[str]) -> Proposal:
        return Proposal(
            text=policy_text(draught),
            files={file: drawn.csv() for file, drawn in draught.hierarchies.values()},
            guesses=tuple(draught.guesses),
            method=attempt.method,
            answered=tuple(self._told_of(attempt)),
            notes=tuple(self._notes(draught.guesses)),
            warnings=tuple(loud),
            changes=self._changes(attempt.columns),
            rows=rows,
        )


def _where_first(column: pl.Series) -> bytes:
    """A hash of the rows in which each row's value is there first: the same for columns that say the same."""
    rows = pl.DataFrame({"value": column}).with_row_index("row").select(pl.col("row").first().over("value"))
    return blake2b(rows["row"].to_numpy().tobytes()).digest()


def _refused_tables(each: Sequence[tuple[int, str]]) -> str:
    """Which tables a check refuses, and what it says of the first of them."""
    numbers, (first, said) = [str(number) for number, _ in each], each[0]
    which = f"table {first}" if len(each) == 1 else f"tables {', '.join(numbers[:-1])} and {numbers[-1]}"
    of_first = "" if len(each) == 1 else f"Table {first}: "
    return f"`publish` will refuse {which} under this policy. {of_first}{said}"
