"""Write what `reissue study methods` measured into the documentation: the picture, and the tables of two pages.

    reissue study methods compared --data DATA --full
    python docs/generate_methods.py compared

The picture is `docs/methods.svg`. The tables stand in `docs/index.md` and `docs/how-to/study-methods.md` between marks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from reissue_studies.methods.figures import TABLES, drawn
from reissue_studies.methods.setting import FULL
from reissue_studies.methods.ways import NO_LINK

DOCS = Path(__file__).parent
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
FIRST = ("census", "diabetes130")
"""The streams on the first page."""
Rows = Sequence[Mapping[str, Any]]


def picture(found: pl.DataFrame) -> None:
    """As a drawing of lines, without the texts for screen readers that stand at every mark: the page has the table."""
    drawn(found, FULL).drawing.configure(aria=False).configure_view(stroke="#DDDDDD").save(str(DOCS / "methods.svg"))


def first(found: pl.DataFrame) -> str:
    """Two streams beside each other."""
    columns = {
        "people withheld, %": lambda row: percent(row["withheld"]),
        "counterfeit rows, %": lambda row: percent(row["counterfeit"]),
        "counts off by, %": lambda row: percent(row["counts"]),
        "slopes that keep their sign": lambda row: f"{row['kept']} of {row['slopes']}",
        "size left of them": lambda row: f"{row['size']:z.2f}",
        "trends off by, points": lambda row: f"{100 * row['trend']:.2f}",
        "best guess right, %": lambda row: percent(row["right"]),
        "people above 1/m, %": lambda row: f"{'≥' if row['undecided'] else ''}{percent(row['above'])}",
        "certain, % (false of these)": certain,
    }
    lines = [["", *columns], [":--", *["--:"] * len(columns)]]
    for name in found["method"].unique(maintain_order=True):
        rows = [row(found, stream, name) for stream in FIRST]
        if all(one["refused"] is None for one in rows):
            lines.append([named(name), *(" / ".join(text(one) for one in rows) for text in columns.values())])
    return table(lines)


def whole(found: pl.DataFrame) -> str:
    """Every stream, all columns."""
    parts = []
    told = [column for columns in TABLES.values() for column in columns if column.measure != "replaced"]
    for stream in found["stream"].unique(maintain_order=True):
        rows = found.filter(pl.col("stream") == stream, pl.col("refused").is_null()).to_dicts()
        parts.append(f"**{stream}**: {rows[0]['rows']:,} people in the last release, m = {rows[0]['m']}.\n\n")
        head = ["", *(column.name for column in told)]
        lines = [[named(one["method"]), *(column.text(one) for column in told)] for one in rows]
        parts.append(table([head, [":--", *["--:"] * len(told)], *lines]) + "\n")
    return "".join(parts)


def row(found: pl.DataFrame, stream: str, method: str) -> dict[str, Any]:
    """What was found of a method on a stream."""
    return found.row(by_predicate=(pl.col("stream") == stream) & (pl.col("method") == method), named=True)


def certain(one: Mapping[str, Any]) -> str:
    """Who is certain, and how many of these claims are false."""
    return "0" if not one["certain"] else f"{percent(one['certain'])} ({percent(one['false'])})"


def percent(figure: float) -> str:
    """A share in per cent."""
    return f"{100 * figure:.1f}" if figure else "0"


def named(method: str) -> str:
    """The class as code, and what is said of it."""
    if method == NO_LINK:
        return f"*{method}*"
    name, _, rest = method.partition(", ")
    return f"`{name}`" + (f", {rest}" if rest else "")


def table(lines: Sequence[Sequence[str]]) -> str:
    """As Markdown."""
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def put(page: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{text.rstrip()}\n\n{END}{after}", encoding="utf-8")


def main(folder: str) -> None:
    """All of it."""
    found = pl.read_parquet(Path(folder) / "figure-1.parquet")
    picture(found)
    put(DOCS / "index.md", first(found))
    put(DOCS / "how-to" / "study-methods.md", whole(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
