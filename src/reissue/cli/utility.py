"""`reissue utility`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import AsJson, Number, print_json, print_table, say, steps


def utility(
    series: Annotated[
        Path | None, typer.Argument(metavar="SERIES", help="The folder of the series; with --table there is none.")
    ] = None,
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
    given: Annotated[
        bool, typer.Option("--given", help="Compare choices of 'given' of Alternatives: what each would do.")
    ] = False,
    choice: Annotated[
        list[str] | None,
        typer.Option(help="With --given: columns, separated by commas; once for each choice to compare."),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="With --given: a table of other people with their values.")] = None,
    table: Annotated[
        Path | None, typer.Option(help="With --given: the table to be published, in place of a series.")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="With --table: the policy file.")] = None,
    sample: Annotated[
        int | None, typer.Option(min=2, help="With --given: so many people at most to attack and count; 50,000.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="With --given: begin no other choice after so long; 600.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what a release cost: information loss, error of queries, what gradients are left. Private.

    Counts and gradients stand beside no link at all, where quasi-identifiers and values are published apart; a sentence
    at the end says what the release is worth.

    With --given: what the columns by whose cells shares differ do to the advantage of whoever knows which values are
    likely for whom, and to the error of estimates. Nothing is published.

    Examples:

      reissue utility clinic

      reissue utility clinic 3 --queries 10000 --dimensions 3 --selectivity 0.01

      reissue utility clinic --given --choice sex --choice sex,region

      reissue utility --given --table january.csv --policy policy.toml
    """
    from reissue.cli.given_tables import Asked, compare_given
    from reissue.cli.selecting import chosen, note_unless_continued
    from reissue.errors import ParameterError
    from reissue.publishing.series import open as open_series
    from reissue.utility import Workload

    if given and weights is not None:
        raise ParameterError("--weights weighs what generalisation takes away, and does not go with --given.")
    if given:
        asked = Asked(choice or None, model, sample, seconds, seed, (queries, dimensions, selectivity))
        compare_given(series, number, table, policy, asked, as_json=as_json)
        return
    own: dict[str, object] = {"--choice": choice or None, "--model": model, "--table": table, "--policy": policy}
    own |= {"--sample": sample, "--seconds": seconds}
    if strange := [name for name, value in own.items() if value is not None]:
        raise ParameterError(f"{', '.join(strange)} goes with --given only.", hint="add --given, or leave it out.")
    if series is None:
        raise ParameterError("There is no series to measure.", hint="name its folder: reissue utility <series>.")
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
