"""`reissue study`: the experiments of a paper, run by this library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from reissue.cli.output import AsJson, print_json, print_table, say, stages

if TYPE_CHECKING:
    import polars as pl

    from reissue.studies.he import Setting
    from reissue.studies.he_figures import Figure

ENDINGS = ("html", "png", "parquet")


def study(
    paper: Annotated[Literal["he"], typer.Argument(metavar="PAPER", help="Whose experiments: he (ICDE 2011).")],
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Where to write the figures; study-PAPER by default.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The size of the paper: takes many minutes.")] = False,
    figures: Annotated[str, typer.Option(help="The figures to draw, separated by commas.")] = "7,8,9,10",
    data: Annotated[
        Literal["OCC", "SAL"], typer.Option(case_sensitive=False, help="What is sensitive: occupation or salary.")
    ] = "OCC",
    rows: Annotated[
        int | None, typer.Option(help="How many people the pool has; 30,000, or 600,000 with --full.")
    ] = None,
    initial: Annotated[
        int | None, typer.Option(help="How many of them are in a release; 10,000, or 200,000 with --full.")
    ] = None,
    turnover: Annotated[
        int | None, typer.Option(help="How many leave and come each time; 1,000, or 20,000 with --full.")
    ] = None,
    releases: Annotated[int | None, typer.Option(help="How many releases; 10, or 21 with --full.")] = None,
    m: Annotated[int, typer.Option(help="m in Figures 7 to 9.")] = 10,
    e: Annotated[str, typer.Option(help="The values of e in Figures 7 to 9, separated by commas.")] = "3,5,7",
    seed: Annotated[int, typer.Option(help="Draw the same tables, releases and queries again.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace figures that are there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the experiments of a paper on a generated census, and draw its figures from what comes out.

    he is Y. He, S. Barman, J. F. Naughton: Preventing Equivalence Attacks in Updated, Anonymized Data. Figures 7 and 8
    count counterfeits, 9 measures the error of queries, 10 takes the time. Each is written as HTML and PNG, and its
    numbers as Parquet.

    Examples:

      reissue study he

      reissue study he occupations --full --figures 7,9
    """
    from reissue.errors import StorageError
    from reissue.studies.he_figures import FIGURES, require_charts

    chosen = [FIGURES[number] for number in _numbers("--figures", figures, among=list(FIGURES))]
    sizes = {"rows": rows, "initial": initial, "turnover": turnover, "releases": releases}
    setting = _setting(full, sizes, data, m, _numbers("--e", e), seed)
    target = folder or Path(f"study-{paper}")
    _check_free(target, chosen, force)
    require_charts()
    found: dict[int, pl.DataFrame] = {}
    with stages(sum(figure.steps(setting) for figure in chosen)) as progress:
        for figure in chosen:
            measured = figure.measure(setting, _numbered(figure, progress))
            found[figure.number] = figure.summary(measured)
            chart = figure.draw(measured, setting)
            try:
                target.mkdir(parents=True, exist_ok=True)
                measured.write_parquet(_path(target, figure, "parquet"))
                chart.save(_path(target, figure, "html"))
                chart.save(_path(target, figure, "png"))
            except OSError as error:
                raise StorageError(f"'{target}' cannot be written: {error.strerror}.") from error
    files = [str(_path(target, figure, ending)) for figure in chosen for ending in ENDINGS]
    if as_json:
        summaries = {str(figure.number): found[figure.number].to_dicts() for figure in chosen}
        print_json({"setting": _told(setting), "figures": summaries, "files": files})
        return
    for figure in chosen:
        _print(figure, found[figure.number])
    for figure in chosen:
        say(f"wrote {_path(target, figure, 'html')}, .png and .parquet")


def _numbered(figure: Figure, progress: Callable[[str], None]) -> Callable[[str], None]:
    return lambda step: progress(f"Figure {figure.number}: {step}")


def _path(target: Path, figure: Figure, ending: str) -> Path:
    return target / f"figure-{figure.number}.{ending}"


def _check_free(target: Path, chosen: list[Figure], force: bool) -> None:
    """Before anything is run: are the files there already?"""
    from reissue.errors import ParameterError

    if target.exists() and not target.is_dir():
        raise ParameterError(f"'{target}' is not a folder.", hint="name another folder.")
    paths = [_path(target, figure, ending) for figure in chosen for ending in ENDINGS]
    taken = [path.name for path in paths if path.exists()]
    if taken and not force:
        raise ParameterError(
            f"'{target}' already holds {', '.join(taken)}.", hint="choose another folder, or pass --force."
        )


def _numbers(option: str, text: str, *, among: list[int] | None = None) -> tuple[int, ...]:
    """Whole numbers separated by commas, each once."""
    from reissue.errors import ParameterError

    try:
        numbers = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        numbers = ()
    if not numbers or (among and not {*numbers} <= {*among}):
        known = f" among {', '.join(map(str, among))}" if among else ""
        example = "7,9" if among else "3,5"
        raise ParameterError(
            f"{option} takes whole numbers{known}, separated by commas. Got '{text}' instead.",
            hint=f"for instance {option} {example}",
        )
    return numbers


def _setting(full: bool, sizes: dict[str, int | None], data: str, m: int, e: tuple[int, ...], seed: int) -> Setting:
    from dataclasses import replace

    from reissue.studies.he import FULL, Setting

    given: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
    sensitive: Any = {"OCC": "occupation", "SAL": "salary"}[data]
    return replace(FULL if full else Setting(), **given, sensitive=sensitive, m=m, e=e, seed=seed)


def _told(setting: Setting) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(setting)


def _print(figure: Figure, summary: pl.DataFrame) -> None:
    for title, table in figure.tables(summary).items():
        print_table(f"Figure {figure.number}, {figure.title}: {title}", table.columns, table.rows(), left=())
