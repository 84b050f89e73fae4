"""`reissue demo`: the main job in small, told on one page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli.output import AsJson, print_json, print_table, say, stages

if TYPE_CHECKING:
    from reissue.demonstrating.demo_run import Demo

PAGE = "demo.html"


def demo(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the demo.")] = Path("reissue-demo"),
    months: Annotated[int, typer.Option(min=2, max=24, help="How many months to publish.")] = 4,
    patients: Annotated[int, typer.Option(min=240, max=20_000, help="How many patients there are a month.")] = 6_000,
    as_json: AsJson = False,
) -> None:
    """Publish an invented hospital over several months in three ways; show on one page what they reveal and cost.

    With Mondrian, which protects each release alone, so that you can watch what the releases reveal together; and with
    MInvariance and Alternatives, which protect the series. The page, FOLDER/demo.html, follows one patient through the
    months, and shows who is exposed when, what is left for analysts, and what to do with tables of your own. The
    series and the tables stay in FOLDER for you to look at.

    Example:

      reissue demo my-first-series --months 6
    """
    from reissue.demonstrating import demo_run
    from reissue.demonstrating.demo_page import demo_page
    from reissue.errors import ParameterError

    if folder.exists():
        raise ParameterError(
            f"There is something at '{folder}' already.", hint="name another folder: reissue demo <folder>"
        )
    with stages(demo_run.stages(months)) as progress:
        told = demo_run.run_demo(folder, months=months, patients=patients, progress=progress)
    page = folder / PAGE
    page.write_text(demo_page(told), encoding="utf-8")
    if as_json:
        print_json({**asdict(told), "page": str(page)})
        return
    _print(told, page)


def _print(told: Demo, page: Path) -> None:
    """The story in a few lines."""
    say(
        f"An invented hospital, {told.patients:,} patients a month, {told.coming:,} of them new each month; published "
        f"for {told.months} months in three ways.",
        "Attacked by somebody who keeps all releases and knows who is in them.",
    )
    months = [found.month for found in told.ways[0].exposure]
    print_table(
        "Patients whose diagnosis is certain",
        ["method", *(f"month {month}" for month in months), "of", "withheld", "counterfeit"],
        [
            (
                way.method,
                *(found.certain for found in way.exposure),
                way.exposure[-1].patients,
                way.withheld,
                way.counterfeits,
            )
            for way in told.ways
        ],
        narrow=True,
    )
    if told.patient is None:
        say("Nobody is exposed by comparing the groups of these releases.")
    else:
        stops = told.patient.ways[0]
        left = ", ".join(f"{len(stop.left)} in month {stop.month}" for stop in stops)
        say(
            f"By Mondrian’s releases {told.patient.patient} has ever fewer diagnoses left: {left}. Only "
            f"{told.patient.diagnosis} was there every month.",
            heading="How it happens. ",
        )
    say(f"{page}, to open in a browser.", heading="The whole story in pictures: ")
    say(f"Look around: reissue audit {page.parent / 'mondrian'}; reissue log {page.parent / 'alternatives'}")
