"""`reissue demo`: the main job in small."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli.output import AsJson, print_json, print_rows, print_table, say, stages

if TYPE_CHECKING:
    from reissue.publishing.series import Series

CHART = "chart.html"


def demo(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the demo.")] = Path("reissue-demo"),
    months: Annotated[int, typer.Option(min=2, max=24, help="How many months to publish.")] = 4,
    as_json: AsJson = False,
) -> None:
    """Publish a small hospital over several months; show what each release reveals and costs.

    The hospital is invented. It is published twice: with Mondrian, which protects each release alone, so that you can
    watch what the releases reveal together; and with MInvariance, which protects the series. Everything stays in
    FOLDER for you to look at.

    Example:

      reissue demo my-first-series --months 6
    """
    from reissue.errors import ParameterError
    from reissue.model.csv_files import write_csv
    from reissue.publishing.series import open as open_series
    from reissue.samples.hospital import hospital

    if folder.exists():
        raise ParameterError(
            f"There is something at '{folder}' already.", hint="name another folder: reissue demo <folder>"
        )
    folder.mkdir(parents=True)
    tables = list(hospital(months))
    naive, protected = _policies()
    with (
        stages(2 * len(tables)) as progress,
        open_series(folder / "series", naive) as series,
        open_series(folder / "protected", protected) as safe,
    ):
        for number, table in enumerate(tables, start=1):
            write_csv(table, folder / f"month-{number}.csv")
            progress(f"Publishing month {number}")
            series.publish(table, seed=number)
            progress(f"Publishing month {number}, protected")
            safe.publish(table, seed=number)
        told = _told(series, safe, folder)
    if as_json:
        print_json(told)
        return
    _print(told, folder)


def _policies() -> tuple[Any, Any]:
    """One for single releases, whose risk is accepted, and one for the series."""
    from reissue.methods import MInvariance, Mondrian
    from reissue.model.schema import Categorical, Numeric, Schema
    from reissue.publishing.checking.thresholds import Checks
    from reissue.publishing.policy import Policy

    schema = Schema(
        person="patient",
        quasi={"age": Numeric(), "zip": Numeric(), "sex": Categorical()},
        sensitive="diagnosis",
    )
    costs = Checks(counterfeit=1)  # it shows them
    return Policy(schema, Mondrian(k=4, l=3), series="unprotected"), Policy(schema, MInvariance(m=4), checks=costs)


def _penalty(series: Series, number: int) -> float:
    """What generalisation cost in a release."""
    from reissue.utility import Utility

    measured = series.utility(number)
    lost = measured.certainty_penalty if isinstance(measured, Utility) else None
    return lost.total if lost else 0.0


def _told(series: Series, safe: Series, folder: Path) -> dict[str, Any]:
    """Everything the demo has to say, as plain data."""
    from reissue.charts import over_releases
    from reissue.errors import MissingExtra
    from reissue.samples.leak import exposure, witness

    published = series.published()
    exposed, still_exposed = exposure(published), exposure(safe.published())["exposed"]
    releases = []
    for release, row in zip(series.releases, exposed.iter_rows(named=True), strict=True):
        changes = release.summary["changes"]
        number = release.number
        releases.append(
            {
                "release": release.number,
                "rows": row["rows"],
                "groups": release.manifest["groups"],
                "came": changes["arrived"] + changes["returned"],
                "gone": changes["gone"],
                "information_loss": _penalty(series, number),
                "exposed": row["exposed"],
                "protected_exposed": still_exposed[number - 1],
                "protected_information_loss": _penalty(safe, number),
                "counterfeits": safe.release(number).summary["counterfeits"],
            }
        )
    story = witness(published)
    told: dict[str, Any] = {"folder": str(folder), "releases": releases, "witness": None, "chart": None}
    first = series.release(1).tables["table"]
    told["first_rows"] = first.head(6).to_dicts()
    if story is not None:
        told["witness"] = {
            "patient": series.private.name_of(story.person),
            "diagnosis": story.value,
            "groups": [{"release": r, "group": g, "diagnoses": list(v)} for r, g, v in story.groups],
        }
    import polars as pl

    data = pl.DataFrame(releases).select("release", "exposed", "protected_exposed")
    try:
        chart = over_releases(
            data,
            {
                "exposed": "Mondrian: people whose diagnosis is certain to anyone who kept all releases so far",
                "protected_exposed": "MInvariance: the same",
            },
            title="A hospital published month after month, with a method for single releases and one for series",
        )
        told["chart"] = str(chart.save(folder / CHART))
    except MissingExtra as missing:
        told["chart_missing"] = str(missing)
    return told


def _print(told: dict[str, Any], folder: Path) -> None:
    import polars as pl

    say(
        "A small hospital publishes its patients every month; each release is 4-anonymous with 3 diagnoses a group.", ""
    )
    print_rows("What the public sees of the first month (first rows)", pl.DataFrame(told["first_rows"]))
    naive = {
        "release": "release", "rows": "rows", "groups": "groups", "came": "came", "gone": "gone",
        "information_loss": "detail lost", "exposed": "people exposed so far",
    }  # fmt: skip
    _print_releases("With Mondrian, each release by itself", naive, told["releases"])
    story = told["witness"]
    if story is None:
        say("Nobody is exposed by comparing the groups of these releases.")
    else:
        say(f"{story['patient']} was in", heading="How it happens. ")
        for group in story["groups"]:
            say(f"  release {group['release']}, group {group['group']}: {', '.join(group['diagnoses'])}")
        say(f"Only {story['diagnosis']} is in all of them: that is the diagnosis.", "")
    protected = {
        "release": "release", "counterfeits": "counterfeits",
        "protected_information_loss": "detail lost", "protected_exposed": "people exposed so far",
    }  # fmt: skip
    _print_releases("With MInvariance: everybody keeps one set of four diagnoses", protected, told["releases"])
    say(f"A chart to open in a browser: {told['chart']}" if told["chart"] else told["chart_missing"])
    series = folder / "series"
    say(f"Look around: reissue log {series}; reissue show {series} 1; reissue utility {folder / 'protected'}")


def _print_releases(title: str, columns: dict[str, str], releases: list[dict[str, Any]]) -> None:
    print_table(title, list(columns.values()), [tuple(release[name] for name in columns) for release in releases])
