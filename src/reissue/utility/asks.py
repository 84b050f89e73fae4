"""Ask: a question that an analyst would put to a release, as a value or as a text.

    ri.Ask("share", "heart failure", by="sex", where="age >= 60")
    ri.Ask.read("share of heart failure by sex where age >= 60")

As a text it is a kind, then `of` a value, `between` two groups, `on` a column, `by` columns, `where` conditions hold:

    count of asthma by age:40,60,80 and sex
    share of ward = surgery and days >= 5
    mean of days by sex
    contrast of asthma between sex = female and male where age >= 60
    slope of asthma on age by sex

Values and columns with one of these words in them, an `and`, a comma or a bracket stand in quotes.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from reissue.errors import ParameterError, listed
from reissue.utility.analysing.breakdown import By
from reissue.utility.analysing.condition_texts import Token, conditions_of, joined, parts_of, tokens_of
from reissue.utility.analysing.conditions import Condition, Conditions

AskKind = Literal["count", "share", "mean", "contrast", "slope"]
KINDS = get_args(AskKind)
_WORDS = ("of", "between", "on", "by", "where")
_EXAMPLES = (
    'write it as: share of "heart failure" by sex where age >= 60; contrast of flu between sex = female and male. '
    'Labels with signs in them stand in quotes: "<30".'
)


@dataclass(frozen=True)
class Ask:
    """A question about a release, as `ri.analyse` answers it."""

    kind: AskKind
    """What is asked for: a count, share, mean, contrast or slope."""
    value: Any = None
    """The sensitive value, or several; None for a mean, the difference or slope of means, and a count of people."""
    by: By = None
    """Columns to group by, with cuts for numbers."""
    where: Conditions | str | None = None
    """Whom it is about."""
    between: Mapping[str, tuple[Condition, Condition]] | None = None
    """Of a contrast the two groups: the first minus the second."""
    on: str | None = None
    """Of a slope the column of numbers."""
    column: str | None = None
    """Of a mean the sensitive column, where several are."""
    text: str | None = None
    """The question as it was written, which stands in results."""

    def __post_init__(self) -> None:
        problems = []
        if self.kind not in KINDS:
            problems.append(f"The 'kind' parameter of Ask must be one of {listed(KINDS)}. Got {self.kind!r} instead.")
        if self.kind == "share" and self.value is None:
            problems.append("A share is of a value: the 'value' parameter of Ask is missing.")
        if self.kind == "mean" and self.value is not None:
            problems.append("A mean is of all values: leave the 'value' parameter of Ask out, or name a 'column'.")
        for name, kind in (("between", "contrast"), ("on", "slope")):
            if (self.kind == kind) != (getattr(self, name) is not None) and self.kind in KINDS:
                needs = f"A {kind} needs the '{name}' parameter of Ask, and nothing else does."
                problems.append(needs)
        if problems:
            raise ParameterError(problems[0], problems=problems[1:], hint=_EXAMPLES)

    @classmethod
    def read(cls, text: str) -> Ask:
        """A question from a text."""
        tokens = tokens_of(text)
        if not tokens or tokens[0][0] != "word" or tokens[0][1].lower() not in KINDS:
            raise _unreadable(f"it begins with none of {listed(KINDS)}")
        kind: Any = tokens[0][1].lower()
        parts: dict[str, list[Token]] = {}
        at = ""
        for token in tokens[1:]:
            word = token[1].lower() if token[0] == "word" else ""
            if word in _WORDS and word not in parts and _WORDS.index(word) > (_WORDS.index(at) if at else -1):
                at = word
                parts[at] = []
            elif not at:
                raise _unreadable(f"after '{kind}' comes one of {listed(_WORDS)}")
            else:
                parts[at].append(token)
        if empty := [name for name, part in parts.items() if not part]:
            raise _unreadable(f"nothing stands after '{empty[0]}'")
        value, column = None, None
        if "of" in parts:
            own = parts["of"]
            if kind == "mean":
                column = joined(own)
            elif own[0] == ("word", "mean") and kind in ("contrast", "slope"):
                named = own[2:] if own[1:2] == [("word", "of")] else own[1:]
                column = joined(named) if named else None
            else:
                value = conditions_of(own) if any(one[0] == "sign" for one in own) else joined(own)
        return cls(
            kind,
            value,
            _by(parts["by"]) if "by" in parts else None,
            conditions_of(parts["where"]) if "where" in parts else None,
            _between(parts["between"]) if "between" in parts else None,
            joined(parts["on"]) if "on" in parts else None,
            column,
            text.strip(),
        )

    def __str__(self) -> str:
        if self.text is not None:
            return self.text
        named = ("value", "column", "between", "on", "by", "where")
        told = [f"{name} {getattr(self, name)}" for name in named if getattr(self, name) is not None]
        return " ".join([self.kind, *told])


def read_questions(questions: Sequence[Ask | str]) -> list[Ask]:
    """Questions, some of them as texts; all that cannot be read are told at once."""
    if isinstance(questions, str | Ask):
        raise ParameterError("The questions must be a list.", hint="questions=[...]")
    found, problems = [], []
    for at, question in enumerate(questions, 1):
        try:
            found.append(Ask.read(question) if isinstance(question, str) else question)
        except ParameterError as error:
            problems.append(f"question {at}: {error.what}")
    if problems:
        raise ParameterError(
            f"{len(problems):,} of {len(questions):,} questions cannot be read.", problems=problems, hint=_EXAMPLES
        )
    return found


def _by(tokens: list[Token]) -> By:
    """`sex and age:40,60,80`."""
    found: dict[str, list[Any] | None] = {}
    for part in parts_of(tokens):
        name, sign, first = part[0][1].partition(":") if part and part[0][0] == "word" else ("", "", "")
        if not sign:
            found[joined(part)] = None
            continue
        rest = [written for _, written in part[1:] if written != ","]
        try:
            found[name] = [_cut(one) for one in [first, *rest] if one]
        except ValueError:
            raise _unreadable(f"the cuts of '{name}' are neither numbers nor dates") from None
    return found


def _cut(text: str) -> Any:
    try:
        number = float(text)
        return int(number) if number.is_integer() else number
    except ValueError:
        return datetime.date.fromisoformat(text)


def _between(tokens: list[Token]) -> dict[str, tuple[Condition, Condition]]:
    """`sex = female and male`."""
    parts = parts_of(tokens)
    signs = [at for at, token in enumerate(parts[0]) if token in (("sign", "="), ("sign", "=="))]
    if len(parts) != 2 or not signs:
        raise _unreadable("after 'between' comes a column and two of its labels: sex = female and male")
    return {joined(parts[0][: signs[0]]): (joined(parts[0][signs[0] + 1 :]), joined(parts[1]))}


def _unreadable(why: str) -> ParameterError:
    return ParameterError(f"The question cannot be read: {why}.", hint=_EXAMPLES)
