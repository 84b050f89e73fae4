"""`reissue estimate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from reissue.cli.output import AsJson, note, print_json, print_table, say, steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from reissue.utility.analysing.analysis import Analysis


def estimate(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Public files: of a series, of one release, or what `export` wrote."),
    ],
    value: Annotated[
        list[str] | None,
        typer.Option(
            "--value",
            help="A sensitive value to estimate the share of; may be given several times. Of numbers also "
            '"days >= 5"; of several sensitive columns "ward = surgery and days >= 5".',
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", help="A column to group by, with cuts for numbers: age:40,60,80. Several times if wanted."
        ),
    ] = None,
    where: Annotated[
        str | None, typer.Option("--where", help='Whom it is about: "age >= 60 and sex = female".')
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Numbers of people instead of shares.")] = False,
    mean: Annotated[bool, typer.Option("--mean", help="The mean of a sensitive column of numbers.")] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="Of several sensitive columns the one for --mean, or those for --table, which crosses them.",
        ),
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="All values: a cross-table.")] = False,
    trend: Annotated[
        bool,
        typer.Option(
            "--trend",
            help="Over all releases, with the change per month, day ... of their periods; without periods per release.",
        ),
    ] = False,
    contrast: Annotated[
        str | None,
        typer.Option(
            "--contrast",
            help="The difference of two groups or releases: sex=female:male. A label with ':' stands in quotes.",
        ),
    ] = None,
    slope: Annotated[
        str | None, typer.Option("--slope", help="By how much a share (or the --mean) changes with a column: age.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option("--hierarchy", help="The hierarchy a column was generalised along: education=education.csv."),
    ] = None,
    release: Annotated[int | None, typer.Option("--release", help="One release of several.")] = None,
    of: Annotated[
        Literal["table", "population"],
        typer.Option("--of", help="Errors for the people of the table, or for a population they are a sample of."),
    ] = "table",
    scores: Annotated[
        Path | None,
        typer.Option("--scores", help="Write rows with unbiased scores, for regressions: CSV, or a .parquet file."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the answer to this file: CSV, or .parquet.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Estimate shares, counts, means and differences from public files alone, with errors.

    Needs nothing private. Without a value it counts people. In a condition, columns are named as in the private table
    (age, not age_low), and values with spaces may stand in quotes.

    Examples:

      reissue estimate clinic/public --value "heart failure" --by sex --where "age >= 60"

      reissue estimate to-send --value asthma --value flu --by age:40,60,80 --count

      reissue estimate clinic/public --value flu --trend

      reissue estimate clinic/public --value flu --contrast sex=female:male --release 3

      reissue estimate clinic/public --value flu --contrast release=1:5

      reissue estimate clinic/public --value flu --contrast 'shift="06:00":"18:00"'

      reissue estimate clinic/public --value flu --slope age --by sex

      reissue estimate to-send --value "heart failure" --scores scores.csv

      reissue estimate to-send --table --column diagnosis --column readmitted
    """
    from reissue.cli.hierarchy_files import read_hierarchies
    from reissue.errors import ParameterError
    from reissue.utility.analysing.analysis import analyse

    chosen = [name for name, given in _ways(trend, contrast, slope, table, mean, count).items() if given]
    if len(chosen) > 1:
        raise ParameterError(f"{' and '.join(chosen)} do not go together.", hint="ask one after the other.")
    _check_used(value, scores, {"--table": table, "--mean": "--mean" in chosen}, asked_of_scores={
        **_ways(trend, contrast, slope, table, False, count), "--by": by, "--where": where, "--out": out,
        "--column": column, "--of": of != "table",
    })  # fmt: skip
    check_new([path for path in (scores, out) if path is not None], force)
    with steps("Estimating"):
        analysis = analyse(folder, hierarchies=read_hierarchies(hierarchy))
        if release is not None:
            analysis = analysis.only(release)
        values = [_value(text, analysis.sensitive_columns) for text in value or []]
        if scores is not None:
            write_frame(analysis.scores(values or None, mean=mean), scores)
            answer = None
        else:
            asked = {"by": _by(by), "where": where, "of": of}
            answer = _answer(analysis, chosen, contrast, asked, values=values, columns=column, slope=slope)
        notes = analysis.notes
    if answer is None:
        _told(f"wrote {scores}", {"files": [str(scores)], "notes": notes}, notes, as_json)
        return
    if out is not None:
        write_frame(answer, out)
    if as_json:
        print_json({"rows": answer.to_dicts(), "notes": notes})
        return
    _show(answer, analysis, where, sloping=slope is not None)
    for sentence in notes:
        note(sentence)
    if out is not None:
        say(f"wrote {out}")


def _ways(
    trend: bool, contrast: str | None, slope: str | None, table: bool, mean: bool, count: bool
) -> dict[str, bool]:
    return {
        "--trend": trend,
        "--contrast": contrast is not None,
        "--slope": slope is not None,
        "--table": table,
        "--mean": mean and not trend and contrast is None and slope is None,
        "--count": count and not table,
    }


def _check_used(
    value: list[str] | None, scores: Path | None, whole: dict[str, bool], asked_of_scores: dict[str, Any]
) -> None:
    """Refuse what would go unheard: an answer to another question than the one that was asked is worse than none."""
    from reissue.errors import ParameterError

    unheard = [name for name, given in asked_of_scores.items() if given] if scores is not None else []
    if unheard:
        raise ParameterError(
            f"--scores writes all rows, and does not go with {', '.join(unheard)}.",
            hint="select and group rows of the file; --release chooses a release.",
        )
    of_all = [name for name, given in whole.items() if given and value and scores is None]
    if of_all:
        raise ParameterError(f"{of_all[0]} is of all values, and does not go with --value.", hint="leave one out.")


def _value(text: str, columns: Sequence[str]) -> Any:
    """A value, or conditions that name sensitive columns, as `ward = surgery` or `days >= 5`."""
    from reissue.errors import ParameterError
    from reissue.utility.analysing.condition_texts import read_conditions

    try:
        conditions = read_conditions(text)
    except ParameterError:
        # A label may have signs in it, as <30 has.
        name, sign, label = (part.strip() for part in text.partition("="))
        return {name: label} if sign and label and name in columns and " and " not in label else text
    return conditions if all(name in columns for name in conditions) else text


def _answer(
    analysis: Analysis,
    chosen: list[str],
    contrast: str | None,
    asked: dict[str, Any],
    *,
    values: list[Any],
    columns: list[str] | None,
    slope: str | None,
) -> pl.DataFrame:
    """What was asked for, one value after the other."""
    import polars as pl

    from reissue.errors import ParameterError

    way = chosen[0] if chosen else ""
    if columns and way != "--table" and len(columns) > 1:
        raise ParameterError("Several columns are crossed by --table alone.", hint="ask for one after the other.")
    column: dict[str, Any] = {"column": columns[0]} if columns else {}
    each = values or [None]
    parts: list[pl.DataFrame]
    if way == "--table":
        parts = [analysis.table(**asked, columns=columns)]
    elif way == "--mean":
        parts = [analysis.mean(**asked, **column)]
    elif contrast is not None:
        sides = _sides(contrast)
        parts = [analysis.contrast(one, **sides, **asked, **column) for one in each]
    elif slope is not None:
        parts = [analysis.slope(one, on=slope, **asked, **column) for one in each]
    elif way == "--trend":
        parts = [analysis.trend(one, **asked, **column) for one in each]
    elif way == "--count" or each == [None]:
        parts = [analysis.count(one, **asked) for one in each]
    else:
        parts = [analysis.share(one, **asked) for one in each]
    return pl.concat(parts)


def _sides(text: str) -> dict[str, Any]:
    """`sex=female:male`, or `release=1:5`; what has a `:` or `=` in it stands in quotes."""
    import re

    from reissue.errors import ParameterError

    quoted = r""""[^"]*"|'[^']*'"""
    found = re.fullmatch(rf"({quoted}|[^=]*)=({quoted}|[^:]*):({quoted}|[^:]*)", text.strip())
    name, *sides = [_unquoted(one.strip()) for one in found.groups()] if found else [""]
    if not all((name, *sides)):
        raise ParameterError(
            "--contrast takes column=first:second, or release=1:5.",
            hint="--contrast sex=female:male; a label with ':' in quotes: --contrast 'shift=\"06:00\":\"18:00\"'",
        )
    if name != "release":
        return {"between": {name: tuple(sides)}}
    try:
        return {"releases": tuple(int(side) for side in sides)}
    except ValueError:
        raise ParameterError("--contrast release=1:5 takes two numbers of releases.") from None


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _by(columns: list[str] | None) -> dict[str, list[Any] | None]:
    """`sex`, or `age:40,60,80` with cuts."""
    import datetime

    from reissue.errors import ParameterError

    def cut(text: str) -> Any:
        try:
            number = float(text)
            return int(number) if number.is_integer() else number
        except ValueError:
            return datetime.date.fromisoformat(text)

    made: dict[str, list[Any] | None] = {}
    for column in columns or []:
        name, sign, cuts = column.partition(":")
        try:
            made[name] = [cut(one) for one in cuts.split(",")] if sign else None
        except ValueError:
            raise ParameterError(
                f"The cuts of '{name}' are neither numbers nor dates.", hint="--by age:40,60,80"
            ) from None
    return made


def check_new(files: list[Path], force: bool) -> None:
    """Refuse to replace files."""
    from reissue.errors import ParameterError

    taken = [str(path) for path in files if path.exists()]
    if taken and not force:
        raise ParameterError(f"There is a file '{taken[0]}' already.", hint="choose another name, or pass --force.")


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a table: CSV, or Parquet by the name of the file."""
    from reissue.errors import StorageError
    from reissue.model.csv_files import write_csv

    try:
        frame.write_parquet(path) if path.suffix == ".parquet" else write_csv(frame, path)
    except OSError as error:
        why = (
            "its folder is not there" if isinstance(error, FileNotFoundError) else error.strerror or "the disk refuses"
        )
        raise StorageError(f"'{path}' cannot be written: {why}.", hint="name another file.") from error


def _told(line: str, data: dict[str, Any], notes: list[str], as_json: bool) -> None:
    if as_json:
        print_json(data)
        return
    say(line)
    for sentence in notes:
        note(sentence)


def _show(answer: pl.DataFrame, analysis: Analysis, where: str | None, *, sloping: bool) -> None:
    """The answer as a table; what low and high are stands above it where it is the same of all rows."""
    import polars as pl

    if answer.is_empty():
        say("Nobody satisfies these conditions: there is no group to tell of.")
        return
    numbers = analysis.releases
    which = f"release {numbers[0]}" if len(numbers) == 1 else f"releases {numbers[0]} to {numbers[-1]}"
    title = f"'{analysis.sensitive}' in {which}" + (f", where {where}" if where else "")
    kinds = answer["interval"].unique().to_list()
    if len(kinds) == 1:
        title += "; no bounds" if kinds == ["none"] else f"; low and high: {kinds[0]}"
        answer = answer.drop("interval", *(["low", "high"] if kinds == ["none"] else []))
    # A slope may be far below the shares that it is of.
    rounded = answer.with_columns(pl.col(pl.Float64).round_sig_figs(4) if sloping else pl.col(pl.Float64).round(4))
    words = [at for at, dtype in enumerate(rounded.dtypes) if dtype == pl.String]
    print_table(title, rounded.columns, rounded.rows(), left=words, narrow=True)
