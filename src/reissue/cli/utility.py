"""`reissue utility`."""

from __future__ import annotations

from typing import Annotated

import typer

from reissue.cli.output import AsJson, Number, SeriesFolder, print_json, print_table, say, steps


def utility(
    series: SeriesFolder,
    number: Number = None,
    queries: Annotated[int, typer.Option(min=0, max=1_000_000, help="How many COUNT queries to ask.")] = 1000,
    dimensions: Annotated[
        int | None, typer.Option(min=1, help="How many quasi-identifiers each query restricts; 2 where there are two.")
    ] = None,
    selectivity: Annotated[float, typer.Option(help="The share of rows a query should match, above 0 up to 1.")] = 0.05,
    weights: Annotated[
        str | None, typer.Option(help="How much each quasi-identifier counts for the distortion: age=0.6,sex=0.4")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Ask the same queries again.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what a release cost: information loss, error of queries, what gradients are left. Private.

    Counts and gradients stand beside no link at all, where quasi-identifiers and values are published apart; a sentence
    at the end says what the release is worth.

    Examples:

      reissue utility clinic

      reissue utility clinic 3 --queries 10000 --dimensions 3 --selectivity 0.01
    """
    from reissue.cli.selecting import chosen, note_unless_continued
    from reissue.publishing.series import open as open_series
    from reissue.utility import Workload

    with steps("Measuring") as progress, open_series(series) as opened:
        note_unless_continued(series)
        release = chosen(opened, number)
        workload = None
        if queries:
            columns = len(release.manifest["columns"])
            workload = Workload(dimensions or min(2, columns), selectivity, count=queries, seed=seed)
        measured = opened.utility(release.number, workload=workload, weights=_weights(weights), progress=progress)
    if as_json:
        print_json({"number": release.number, **measured.to_dict()})
        return
    frame = measured.frame()
    print_table(f"What release {release.number} cost", frame.columns, frame.rows(), left=(0, 2))
    say(measured.sentence)


def _weights(text: str | None) -> dict[str, float] | None:
    from reissue.errors import ParameterError

    if text is None:
        return None
    try:
        return {name: float(weight) for name, _, weight in (part.rpartition("=") for part in text.split(","))}
    except ValueError:
        raise ParameterError("--weights takes column=number, separated by commas: age=0.6,sex=0.4") from None
