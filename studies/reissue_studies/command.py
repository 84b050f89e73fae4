"""The command of the studies; `reissue study` hands over to it.

Studies are imported inside functions, so that `reissue study --help` starts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from reissue.cli.output import AsJson, note, print_json, print_table, say, stages

if TYPE_CHECKING:
    import polars as pl

    from reissue_studies.figure import Figure
    from reissue_studies.progress import Progress

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
ENDINGS = ("html", "png", "parquet")


class Study(NamedTuple):
    """The figures of a study, and the setting to measure them in."""

    figures: Mapping[int, Figure[Any]]
    setting: Any
    remarks: tuple[str, ...] = ()
    """What is to be said before anything is run."""


@app.command()
def study(
    name: Annotated[
        Literal["methods", "he", "byun", "riboni", "wong", "bu"],
        typer.Argument(
            metavar="STUDY",
            help="All methods on the same streams: methods. Or the experiments of a paper: he (2011), byun (2006), "
            "riboni (2009), wong (2007), bu (2008).",
        ),
    ],
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Where to write the figures; study-STUDY by default.")
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="he, riboni: the size of the paper, which takes many minutes. methods: 200,000 people, and real "
            "streams whole.",
        ),
    ] = False,
    streams: Annotated[
        str | None,
        typer.Option(
            help="methods: the streams, separated by commas: census, diabetes130, nlswork, cms. By default all whose "
            "files are there; census is generated."
        ),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option(
            help="The figures to draw, separated by commas; he: 6 to 10, byun: 8 to 11, riboni: 2, 7 to 12, "
            "wong and bu: 2 to 8, methods: 1."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="he: OCC or SAL, what is sensitive. byun: UCI's adult.data; a census is generated without. wong: "
            "UCI's adult.data with adult.test beside it, or their folder; people are invented without. methods: the "
            "folder of the real streams; by default what REISSUE_DATA names."
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            help="How many people there are in all; 30,000, or 600,000 with --full. wong: all of Adult's complete "
            "rows, or 45,222 invented people. bu: 40,478 invented people at first. methods: people in each generated "
            "table, and at most so many in real ones; 10,000."
        ),
    ] = None,
    initial: Annotated[
        int | None,
        typer.Option(
            help="he, byun: how many are in the first release (byun: of Figure 8); 10,000, or 200,000 with --full."
        ),
    ] = None,
    turnover: Annotated[
        int | None,
        typer.Option(help="he, byun: how many come each time (he: and leave); 1,000, or 20,000 with --full."),
    ] = None,
    releases: Annotated[
        int | None,
        typer.Option(
            help="he: how many releases; 10, or 21 with --full. riboni: at most so many; 21 and 24 by default. bu: 20 "
            "by default. methods: 5."
        ),
    ] = None,
    m: Annotated[
        int | None,
        typer.Option(
            help="he: m in Figures 6 to 9; 10 by default. riboni: m; 6 by default. methods: m, l and k of all methods; "
            "10 for the census and 4 for real streams by default."
        ),
    ] = None,
    e: Annotated[str | None, typer.Option(help="he: the values of e in Figures 7 to 9; 3,5,7 by default.")] = None,
    l: Annotated[  # noqa: E741
        str | None, typer.Option("--l", help="The values of l; byun: 5,7 by default, bu: 4,5,8.")
    ] = None,
    waiting: Annotated[
        str | None, typer.Option(help="byun: the shares of all records that may wait; 0.02 by default.")
    ] = None,
    n: Annotated[int | None, typer.Option(help="riboni: the degree n of hc-safety; 3 by default.")] = None,
    queries: Annotated[
        int | None,
        typer.Option(
            help="riboni: how many queries for each selectivity in Figure 9; wong: for each point; 10,000 by default. "
            "bu: for each release; 5,000 by default. methods: 1,000."
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="wong: how many runs to average in Figures 3 to 6 and 8; 3 by default.")
    ] = None,
    changing: Annotated[
        float | None,
        typer.Option(help="methods: the share of generated people whose value changes each time; 0 by default."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="methods: how long Worlds may take for each method and stream; 20 by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draw the same tables, releases and queries again.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace figures that are there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare all methods, or run the experiments of a paper, and draw figures from what comes out.

    methods publishes the same streams by every method: a generated census and, where their files are, three tables of
    other people whose values change. It measures what each costs, what is left to analysts and what attacks get, as one
    table and one picture.

    he is Y. He, S. Barman, J. F. Naughton: Preventing Equivalence Attacks in Updated, Anonymized Data. Figure 6 counts
    people compromised by equivalence attacks, 7 and 8 count counterfeits, 9 measures the error of queries, 10 takes the
    time. byun is J.-W. Byun, Y. Sohn, E. Bertino, N. Li: Secure Anonymization for Incremental Datasets. Figure 8 counts
    records that comparing releases makes vulnerable, 9 measures the information loss, 10 counts the records that wait,
    11 takes the time. riboni is D. Riboni, C. Bettini: Cor-Split. Figure 2 draws the probabilities in closed form, 7
    counts groups that correlate few people, 8 counts counterfeits, 9 measures the error of queries; beyond the paper,
    10 takes the time, 11 counts people whom combinations of releases tie together, 12 compares observed breaches with
    the formulas. wong is R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei: Minimality Attack in Privacy Preserving Data
    Publishing. Figure 2 counts those whom the attack exposes, 3 and 4 compare Mask with AlphaK in one table (m = 2 and
    10), 5 and 6 in two; beyond the paper, 7 takes the time of the attack, 8 says what somebody believes who knows Mask.
    bu is Y. Bu, A. W.-C. Fu, R. C.-W. Wong, L. Chen, J. Li: Privacy Preserving Serial Data Publishing By Role
    Composition. Figures 2 and 3 count people whose link with a permanent value comes out, by releases of l-diversity
    and of m-invariance; 4 counts values published as others, 5 and 6 measure the error of queries, 7 takes the time, 8
    shows what it costs that somebody knows who is in the table. Each is written as HTML and PNG, and its numbers as
    Parquet.

    Examples:

      reissue study methods

      reissue study methods compared --data data --streams census,diabetes130 --full

      reissue study he

      reissue study he occupations --full --figures 7,9

      reissue study byun --data adult.data

      reissue study byun --figures 9,10 --waiting 0,0.02,0.1

      reissue study riboni --figures 2,7,8

      reissue study wong --data adult.data --figures 2,7

      reissue study bu --rows 4000 --releases 8 --figures 2,3
    """
    from dataclasses import asdict

    given = {
        "rows": rows, "initial": initial, "turnover": turnover, "full": full or None, "data": data,
        "releases": releases, "m": m, "e": e, "l": l, "waiting": waiting, "n": n, "queries": queries,
        "repeats": repeats, "streams": streams, "changing": changing, "seconds": seconds,
    }  # fmt: skip
    known, setting, remarks = _chosen(
        name, {option: value for option, value in given.items() if value is not None}, seed
    )
    numbers = list(known) if figures is None else _numbers("--figures", figures, among=list(known))
    chosen = [known[number] for number in numbers]
    target = folder or Path(f"study-{name}")
    _check_free(target, chosen, force)
    for remark in remarks:
        note(remark)
    found = _draw_all(chosen, setting, target)
    if as_json:
        files = [str(_path(target, figure, ending)) for figure in chosen for ending in ENDINGS]
        summaries = {str(number): summary.to_dicts() for number, summary in found.items()}
        print_json({"setting": asdict(setting), "figures": summaries, "files": files})
        return
    for figure in chosen:
        _print(figure, found[figure.number])
    for figure in chosen:
        say(f"wrote {_path(target, figure, 'html')}, .png and .parquet")


def _draw_all(chosen: list[Figure[Any]], setting: object, target: Path) -> dict[int, pl.DataFrame]:
    """Run what the figures need, each run once, and write them; their summaries by number."""
    from reissue.charts import load_altair
    from reissue.errors import StorageError

    load_altair()  # refuse at once if charts cannot be drawn, before anything takes time
    sharing: dict[object, list[Figure[Any]]] = {}
    for figure in chosen:
        sharing.setdefault(figure.measure, []).append(figure)
    measured: dict[object, pl.DataFrame] = {}
    found: dict[int, pl.DataFrame] = {}
    with stages(sum(same[0].steps(setting) for same in sharing.values())) as progress:
        for figure in chosen:
            runs = figure.measure
            if runs not in measured:
                measured[runs] = runs(setting, progress=_numbered(sharing[runs], progress))
            found[figure.number] = figure.summary(measured[runs])
            chart = figure.draw(measured[runs], setting)
            try:
                target.mkdir(parents=True, exist_ok=True)
                chart.data.write_parquet(_path(target, figure, "parquet"))
                chart.save(_path(target, figure, "html"))
                chart.save(_path(target, figure, "png"))
            except OSError as error:
                raise StorageError(f"'{target}' cannot be written: {error.strerror}.") from error
    return found


def _numbered(figures: list[Figure[Any]], progress: Progress) -> Progress:
    numbers = ", ".join(str(figure.number) for figure in figures)
    return lambda step: progress(f"Figure{'s' if len(figures) > 1 else ''} {numbers}: {step}")


def _path(target: Path, figure: Figure[Any], ending: str) -> Path:
    return target / f"figure-{figure.number}.{ending}"


def _check_free(target: Path, chosen: list[Figure[Any]], force: bool) -> None:
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


def _shares(option: str, text: str) -> tuple[float, ...]:
    """Numbers from 0 to 1 separated by commas, each once."""
    from reissue.errors import ParameterError

    try:
        shares = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        shares = ()
    if not shares or not all(0 <= share <= 1 for share in shares):
        raise ParameterError(
            f"{option} takes numbers from 0 to 1, separated by commas. Got '{text}' instead.",
            hint=f"for instance {option} 0,0.02",
        )
    return shares


def _print(figure: Figure[Any], summary: pl.DataFrame) -> None:
    for title, table in figure.tables(summary).items():
        words = [at for at, kind in enumerate(table.dtypes) if at == 0 and not kind.is_numeric()]
        print_table(f"Figure {figure.number}, {figure.title}: {title}", table.columns, table.rows(), left=words)


# From options to the setting of a study


def _chosen(name: str, given: dict[str, Any], seed: int) -> Study:
    """A study with the options that were given, if all of them mean something to it."""
    from reissue.errors import ParameterError

    make, known = STUDIES[name]
    wrong = [f"--{option}" for option in given if option not in known]
    if wrong:
        raise ParameterError(f"{', '.join(wrong)} has no meaning for the study {name}.", hint="leave it out.")
    return make(given, seed)


def _methods(given: dict[str, Any], seed: int) -> Study:
    import os
    from dataclasses import replace

    from reissue_studies.methods.figures import FIGURES
    from reissue_studies.methods.setting import FULL, Setting

    if "streams" in given:
        given["streams"] = tuple(part.strip() for part in given["streams"].split(","))
    usual = FULL if given.pop("full", False) else Setting()
    given.setdefault("data", os.environ.get("REISSUE_DATA") or None)
    setting = replace(usual, **given, seed=seed)
    return Study(FIGURES, setting, tuple(f"{name} is left out: {why}" for name, why in setting.left_out.items()))


def _he(given: dict[str, Any], seed: int) -> Study:
    from dataclasses import replace

    from reissue.errors import ParameterError
    from reissue_studies.he.figures import FIGURES
    from reissue_studies.he.setting import FULL, Setting

    data = given.pop("data", "OCC")
    sensitive: Any = {"OCC": "occupation", "SAL": "salary"}.get(data.upper())
    if sensitive is None:
        raise ParameterError(f"--data of the study he is OCC or SAL. Got '{data}' instead.")
    if "e" in given:
        given["e"] = _numbers("--e", given["e"])
    elif "m" in given:
        # The usual ones, as far as they go.
        given["e"] = tuple(one for one in Setting().e if one <= given["m"]) or (given["m"],)
    usual = FULL if given.pop("full", False) else Setting()
    return Study(FIGURES, replace(usual, **given, sensitive=sensitive, seed=seed))


def _byun(given: dict[str, Any], seed: int) -> Study:
    from reissue_studies.byun.figures import FIGURES
    from reissue_studies.byun.setting import Setting

    if "l" in given:
        given["l"] = _numbers("--l", given["l"])
    if "waiting" in given:
        given["waiting"] = _shares("--waiting", given["waiting"])
    return Study(FIGURES, Setting(**_renamed(given, turnover="step", data="path"), seed=seed))


def _riboni(given: dict[str, Any], seed: int) -> Study:
    from dataclasses import replace

    from reissue_studies.riboni.figures import FIGURES
    from reissue_studies.riboni.setting import FULL, Setting

    if "m" in given and "n" not in given:
        # The usual one, as far as it goes.
        given["n"] = min(Setting().n, max(given["m"], 1))
    usual = FULL if given.pop("full", False) else Setting()
    return Study(FIGURES, replace(usual, **given, seed=seed))


def _wong(given: dict[str, Any], seed: int) -> Study:
    from reissue_studies.wong.figures import FIGURES
    from reissue_studies.wong.setting import Setting

    return Study(FIGURES, Setting(**_renamed(given, data="path"), seed=seed))


def _bu(given: dict[str, Any], seed: int) -> Study:
    from reissue_studies.bu.figures import FIGURES
    from reissue_studies.bu.setting import Setting

    if "l" in given:
        given["l"] = tuple(sorted(_numbers("--l", given["l"])))
    return Study(FIGURES, Setting(**_renamed(given, rows="people", releases="rounds"), seed=seed))


def _renamed(given: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in given.items()}


STUDIES: Mapping[str, tuple[Callable[[dict[str, Any], int], Study], frozenset[str]]] = {
    "methods": (
        _methods,
        frozenset(("full", "streams", "data", "rows", "releases", "m", "queries", "changing", "seconds")),
    ),
    "he": (_he, frozenset(("full", "data", "rows", "initial", "turnover", "releases", "m", "e"))),
    "byun": (_byun, frozenset(("data", "rows", "initial", "turnover", "l", "waiting"))),
    "riboni": (_riboni, frozenset(("full", "rows", "releases", "m", "n", "queries"))),
    "wong": (_wong, frozenset(("data", "rows", "queries", "repeats"))),
    "bu": (_bu, frozenset(("rows", "releases", "l", "queries"))),
}
"""How the setting of each study is made, and the options that it has a meaning for."""
