"""Cells in words and in other tools' brackets, written as `intervals` reads them.

| Cell                                                    | is written as       |
|---------------------------------------------------------|---------------------|
| `20s`, `1990s`                                          | `[20, 30)`          |
| `50 to 59 Years`, `50 - 59 yrs`, `between 50 and 59`    | `[50, 59]`          |
| `19 and younger`, `19 or less`, `up to 19`, `0 to 19`   | `<=19`              |
| `under 20`, `less than 20`, `younger than 20`           | `<20`               |
| `90 and older`, `65 or more`, `65 plus`, `90+ years`    | `>=90`              |
| `over 64`, `more than 64`, `older than 64`              | `>64`               |
| `unter 20 Jahre`, `80 años y más`, `moins de 20 ans`    | the same in German, Spanish, French and Portuguese |
| `['17-36']` (anonypy)                                   | `17-36`             |
| `['a,b']`, `['a', 'b']` (anonypy)                       | `{a,b}`             |

Only years may be named: months beside years would be numbers of different things. What is none of these stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from reissue.tables.recode import set_text

_ACCENTED = re.compile("([a-z])[\u0300-\u036f]+")
_YEARS = re.compile(
    r"(?i)\s*(?:\(\s*years?\s*\)|(?:years?|yrs?)\b\.?(?:\s+(?:old|of\s+age))?|y/o|(?<=\d)y\b"
    r"|jahren?\b|jahre?\b|ans\b|años?\b|anos?\b|anni\b)\s*"
)
_AGED = re.compile(r"(?i)^\s*(?:aged?|ages)\b\s*:?\s*(?=\d|[<>≤≥])")
_N = r"([+-]?\d+(?:\.\d+)?)"
_DECADE = re.compile(r"(\d{1,3}0|0)'?s", re.I)
_AND = r"(?:and|or|&|und|oder|y|o|et|ou|e)"
_AT_MOST = rf"{_AND}\s+(?:younger|under|less|below|fewer|lower|earlier|jünger|weniger|darunter|menos|menores|moins)"
_AT_LEAST = (
    rf"(?:{_AND}\s+(?:older|over|more|above|up|upwards?|higher|greater|later|älter|mehr|darüber|más|mas|mayores|plus|mais"
    r"|oltre)|plus)"
)
_UNTIL = r"(?:up\s+to|at\s+most|no\s+more\s+than|bis(?:\s+zu)?|hasta|até|jusqu['’]à)"
_UNDER = (
    r"(?:under|less\s+than|younger\s+than|below|fewer\s+than|unter|jünger\s+als|menor(?:es)?\s+(?:de|que|a)"
    r"|menos\s+de|moins\s+de|meno\s+di)"
)
_OVER = (
    r"(?:over|more\s+than|older\s+than|above|greater\s+than|über|älter\s+als|mehr\s+als|mayor(?:es)?\s+(?:de|que|a)"
    r"|maior(?:es)?\s+(?:de|que)|más\s+de|mais\s+de|plus\s+de)"
)


def _written(pattern: str, form: str) -> tuple[re.Pattern[str], Callable[[re.Match[str]], str]]:
    return re.compile(pattern, re.I), lambda found: form.format(*found.groups())


_WORDS = (
    _written(rf"{_N}\s*(?:to|through|until|bis|à)\s*{_N}", "[{0}, {1}]"),
    _written(rf"{_N}\s+(?:a|al|até|hasta)\s+{_N}", "[{0}, {1}]"),
    _written(rf"(?:between|from|zwischen|von|entre|de|da)\s+{_N}\s+(?:and|to|und|bis|et|à|y|e|a)\s+{_N}", "[{0}, {1}]"),
    _written(rf"{_N}\s*{_AT_MOST}", "<={0}"),
    _written(rf"{_UNTIL}\s+{_N}", "<={0}"),
    _written(rf"{_UNDER}\s+{_N}", "<{0}"),
    _written(rf"{_N}\s*{_AT_LEAST}", ">={0}"),
    _written(rf"(?:at\s+least|mindestens|ab)\s+{_N}", ">={0}"),
    _written(rf"{_OVER}\s+{_N}", ">{0}"),
)
_LIST = re.compile(
    r"\[\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?:\s*,\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))*\s*\]"
)
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")


def unwrapped(text: str) -> str:
    """A cell out of the list that some tools put around it: `['17-36']` is `17-36`, `['a', 'b']` is `{a,b}`."""
    if not text.startswith("[") or not _LIST.fullmatch(text):
        return text
    parts = [re.sub(r"\\(.)", r"\1", one or two).strip() for one, two in _QUOTED.findall(text)]
    if len(parts) == 1:
        inner = [part.strip() for part in parts[0].split(",")]
        if len(inner) == 1 or not all(inner) or inner[0].startswith(("[", "(", "]", "{")):
            return parts[0]
        parts = inner
    return set_text(list(dict.fromkeys(parts))) if all(parts) else text


def in_signs(text: str) -> str:
    """A cell in words as an interval in signs; anything else as it is."""
    if not text or not any(map(str.isdecimal, text)):
        return text
    plain = _AGED.sub("", _YEARS.sub(" ", text)).strip()
    if plain == text.strip() and not any(map(str.isalpha, text)):
        return text
    # 1900s may be ten years or a hundred.
    if (found := _DECADE.fullmatch(plain)) and not (len(found[1]) > 3 and found[1].endswith("00")):
        return f"[{int(found[1])}, {int(found[1]) + 10})"
    for pattern, form in _WORDS:
        if found := pattern.fullmatch(plain):
            return form(found)
    # Without its unit a cell is what it would be without it: `20-29 years`, `90+ years`, `<20 years`.
    return plain if plain != text.strip() and not any(map(str.isalpha, plain)) else text


def without_accents(text: str) -> str:
    """A text without accents on small Latin letters; elsewhere marks are letters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", text)))


def plain_label(text: str) -> str:
    """A label without case, accents and spaces that say nothing."""
    return without_accents(" ".join(text.casefold().split()))
