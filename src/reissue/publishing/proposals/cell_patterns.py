"""What the cells of a column look like: dates as text, codes of diseases and drugs, postcodes, words, free text.

Only the distinct values are looked at, and of many distinct ones some thousands.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

MOST_LOOKED_AT = 3_000
NEARLY_ALL = 0.95
"""So large a share of distinct values must fit a pattern."""

_CODES = {
    "ATC": r"^[A-DGHJL-NPRSV][0-9]{2}[A-Z]{2}[0-9]{2}$",
    "ICD-10": r"^[A-TV-Z][0-9][0-9AB](\.?[0-9A-TV-Z]{1,4})?$",
    "ICD-9": r"^(V[0-9]{2}|E[0-9]{3}|[0-9]{3})(\.?[0-9]{1,2})?$",
}
_SURE_ICD_9 = r"^[VE][0-9]{2,}|^[0-9]{3}\.[0-9]"
"""Three digits can be anything; some codes of ICD-9 that nothing else has must be among them."""
_POSTCODES = (
    r"^[0-9]{4,6}$",
    r"^[A-Z][0-9][A-Z]( ?[0-9][A-Z][0-9])?$",
    r"^[A-Z]{1,2}[0-9][0-9A-Z]?( ?[0-9][A-Z]{2})?$",
)
_CLINICAL_WORDS = (
    r"(?i)(disorder|disease|syndrome|itis\b|osis\b|cancer|carcinoma|tumou?r|fracture|diabet|asthma|infection|pneumon|"
    r"h(a)?emia\b|hypertens|failure|covid|hiv\b|influenza|\bflu\b|migraine|gout\b|depress|stroke|angina|lipid|neoplasm|"
    r"measles|bronch|ulcer|an(a)?emia|krankheit|krebs|maladie|enfermedad)"
)
_CLINICAL_SHARE = 0.15
_STYLES = {
    "%Y-%m-%d": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "%d.%m.%Y": r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}$",
    "%d/%m/%Y": r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}$",
    "%m/%d/%Y": r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}$",
    "%d-%m-%Y": r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}$",
    "%Y/%m/%d": r"^[0-9]{4}/[0-9]{2}/[0-9]{2}$",
    "%Y%m%d": r"^(1[89]|20|21)[0-9]{2}[01][0-9][0-3][0-9]$",
    "%d%b%Y": r"^[0-9]{2}[A-Za-z]{3}[0-9]{4}$",
    "%d %b %Y": r"^[0-9]{1,2} [A-Za-z]{3} [0-9]{4}$",
}
"""Ways to write a day, as `strptime` names them; of two that fit the first is taken, and that is said."""


@dataclass(frozen=True)
class TextDates:
    """Days written as text, all in one way."""

    style: str
    ambiguous: bool
    """Whether another way would fit as well: 03/04/2026 is in March or in April."""


def looked_at(values: pl.Series) -> pl.Series:
    """Distinct values as text, some thousands of them."""
    return values.head(MOST_LOOKED_AT).cast(pl.String).str.strip_chars()


def text_dates(texts: pl.Series) -> TextDates | None:
    """How days are written, where all distinct values are days."""
    fitting = [
        style
        for style, pattern in _STYLES.items()
        if texts.len() and texts.str.contains(pattern).all() and _parsed(texts, style)
    ]
    return TextDates(fitting[0], len(fitting) > 1) if fitting else None


def _parsed(texts: pl.Series, style: str) -> bool:
    return texts.str.to_date(style, strict=False).null_count() == 0


def code_pattern(texts: pl.Series) -> str:
    """The name of the code that nearly all values are of; empty where there is none."""
    if texts.len() < 5:
        return ""
    for name, pattern in _CODES.items():
        if _share(texts, pattern) >= NEARLY_ALL and (name != "ICD-9" or texts.str.contains(_SURE_ICD_9).any()):
            return name
    return ""


def like_postcodes(texts: pl.Series) -> bool:
    """Whether values could be postcodes, where the name says so."""
    return any(_share(texts, pattern) >= NEARLY_ALL for pattern in _POSTCODES)


def clinical_words(texts: pl.Series) -> bool:
    """Whether a good part of the labels name illnesses."""
    return texts.len() >= 3 and _share(texts, _CLINICAL_WORDS) >= _CLINICAL_SHARE


def like_free_text(texts: pl.Series, distinct: int, rows: int) -> bool:
    """Whether cells are written freely: many words, or long, and hardly two alike."""
    if distinct < 20 or distinct < 0.2 * rows:
        return False
    words = float((texts.str.count_matches(r"\s+") + 1).mean() or 0)  # type: ignore[arg-type]
    length = float(texts.str.len_chars().mean() or 0)  # type: ignore[arg-type]
    return words >= 4 or length >= 50


def _share(texts: pl.Series, pattern: str) -> float:
    return float(texts.str.contains(pattern).mean() or 0)  # type: ignore[arg-type]
