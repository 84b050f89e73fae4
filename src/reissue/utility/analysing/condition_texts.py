"""Conditions as a text: `age >= 60 and sex = female and zip in (10, 12)`.

Parts are joined by `and`. A part is a column, one of `=  !=  <  <=  >  >=  in`, and a value, or for `in` values in
brackets. Values and columns with an `and`, a comma or a bracket in them stand in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reissue.errors import ParameterError
from reissue.utility.analysing.conditions import Condition, Excluded, Range

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<sign><=|>=|!=|==|=|<|>|\(|\)|,)|(?P<word>[^\s"'<>=!(),]+))"""
)
_COMPARING = ("<", "<=", ">", ">=")

Token = tuple[str, str]
"""A kind (`word`, `quoted`, `sign`) and what is written, without quotes."""


def read_conditions(text: str) -> dict[str, Condition]:
    """The conditions that a text says, by column."""
    return conditions_of(tokens_of(text))


def conditions_of(tokens: Sequence[Token]) -> dict[str, Condition]:
    """The same of a text that was taken apart."""
    found: dict[str, Condition] = {}
    for part in parts_of(tokens):
        name, condition = _condition(part)
        before = found.get(name)
        if isinstance(before, Range) and isinstance(condition, Range):
            if (
                len(
                    {
                        type(end) is str
                        for one in (before, condition)
                        for end in (one.first, one.last)
                        if end is not None
                    }
                )
                > 1
            ):
                raise _unreadable(f"'{name}' is compared with a number and with something else")
            condition = before.within(condition)
        elif before is not None:
            raise _unreadable(f"'{name}' stands in two conditions that cannot be joined")
        found[name] = condition
    return found


def tokens_of(text: str) -> list[Token]:
    """A text taken apart."""
    found, at = list[Token](), 0
    stripped = text.rstrip()
    while at < len(stripped):
        token = _TOKEN.match(stripped, at)
        if token is None:
            raise _unreadable("it has a quote that is not closed, or a sign that means nothing here")
        kind = str(token.lastgroup)
        written = token[kind]
        found.append((kind, written[1:-1] if kind == "quoted" else written))
        at = token.end()
    return found


def parts_of(tokens: Sequence[Token]) -> list[list[Token]]:
    """What stands between each `and`."""
    parts: list[list[Token]] = [[]]
    for kind, written in tokens:
        if kind == "word" and written.lower() == "and":
            parts.append([])
        elif kind == "word" and written.lower() == "or":
            raise _unreadable("it has an 'or'; write 'column in (a, b)', or ask twice")
        else:
            parts[-1].append((kind, written))
    return parts


def _condition(part: list[Token]) -> tuple[str, Condition]:
    signs = [
        at
        for at, (kind, written) in enumerate(part)
        if (kind == "sign" and written not in ("(", ")", ",")) or (kind == "word" and written.lower() == "in")
    ]
    if not signs or signs[0] in (0, len(part) - 1):
        raise _unreadable("a part of it is not a column, a comparison and a value")
    name = joined(part[: signs[0]])
    sign, rest = part[signs[0]][1].lower(), part[signs[0] + 1 :]
    if sign == "in":
        return name, _listed(rest)
    value = joined(rest)
    if sign not in _COMPARING:
        return name, Excluded((value,)) if sign == "!=" else value
    end = _number(value)
    if sign.startswith(">"):
        return name, Range(first=end, above=sign == ">")
    return name, Range(last=end, below=sign == "<")


def _number(text: str) -> float | str:
    """A number to compare with; dates stay texts, whose order is that of dates."""
    try:
        number = float(text)
        return int(number) if number.is_integer() else number
    except ValueError:
        return text


def _listed(tokens: list[Token]) -> list[str]:
    if tokens[0] != ("sign", "(") or tokens[-1] != ("sign", ")"):
        raise _unreadable("after 'in' come values in brackets, with commas between them")
    values: list[list[Token]] = [[]]
    for token in tokens[1:-1]:
        if token == ("sign", ","):
            values.append([])
        else:
            values[-1].append(token)
    return [joined(value) for value in values]


def joined(tokens: Sequence[Token]) -> str:
    """Words that belong together, as in `heart failure`."""
    if not tokens or any(kind == "sign" for kind, _ in tokens):
        raise _unreadable("a part of it is not a column, a comparison and a value")
    return " ".join(written for _, written in tokens)


def _unreadable(why: str) -> ParameterError:
    return ParameterError(
        f"The conditions cannot be read: {why}.",
        hint='write them as: age >= 60 and sex = female and region in (north, "north-east").',
    )
