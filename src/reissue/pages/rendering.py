"""From templates to a page: one file that works offline, without scripts.

Everything that is put into a page is escaped where it enters: what a browser would take for a part of the page, and
what would steer or disguise a text. A name that a template asks for and nobody gave is an error.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reissue.errors import count_of, printable

TEMPLATES = Path(__file__).parent / "templates"
"""What all pages share: `base.html`, its style, and the parts that pages are put together from."""
NOTHING = "–"
"""What stands where there is no figure."""


def render(folder: Path, template: str, **shown: Any) -> str:
    """A page from a template in `folder`, which may extend and import those of `TEMPLATES`."""
    return _environment(folder).get_template(template).render(shown)


@lru_cache(maxsize=8)
def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
        auto_reload=False,
    )
    environment.filters.update(count=as_count, percent=as_percent, short=as_short, upper_first=upper_first)
    environment.globals["count_of"] = count_of
    return environment


def _shown(thing: object) -> object:
    """What stands in a page for a thing; what comes from other templates is escaped already."""
    if isinstance(thing, Markup):
        return thing
    return NOTHING if thing is None else printable(thing if isinstance(thing, str) else str(thing))


def as_count(number: int | None) -> str:
    """`1,200`."""
    return NOTHING if number is None else f"{number:,}"


def as_percent(share: float | None) -> str:
    """`12.5 %`, with no more digits than it takes; what is not quite nothing or everything does not look like it."""
    if share is None:
        return NOTHING
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{share * 100:.1f}".removesuffix(".0") + " %"


def as_short(figure: object) -> object:
    """A cell of a table: whole numbers with commas, others with four digits."""
    if isinstance(figure, bool):
        return "yes" if figure else "no"
    if isinstance(figure, int):
        return f"{figure:,}"
    return f"{figure:.4g}" if isinstance(figure, float) else figure


def upper_first(text: str) -> str:
    """A phrase as the beginning of a sentence."""
    return f"{text[:1].upper()}{text[1:]}"
