"""`reissue utility`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli.output import AsJson, Number, note, print_json, print_table, say, steps

if TYPE_CHECKING:
    from reissue.utility import Answers


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
    ask: Annotated[
        list[str] | None,
        typer.Option(help='A question of your own: "share of flu by sex where age >= 60". Several times if wanted.'),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="A file of such questions, one in each line; # begins a remark.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the answers to your questions to this file: CSV, or .parquet. Private.")
    ] = None,
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

    A question begins with count, share, mean, contrast or slope: "count of flu by age:40,60 and sex", "mean of days",
    "contrast of flu between sex = female and male", "slope of flu on age where sex = female". Each is answered as
    `reissue estimate` answers it, beside the truth and beside no link at all.

    With --given: what the columns by whose cells shares differ do to the advantage of whoever knows which values are
    likely for whom, and to the error of estimates. Nothing is published.

    Examples:

      reissue utility clinic

      reissue utility clinic 3 --queries 10000 --dimensions 3 --selectivity 0.01

      reissue utility clinic --ask "share of heart failure by sex where age >= 60" --ask "slope of flu on age"

      reissue utility clinic --questions ours.txt --out answers.csv

      reissue utility clinic --given --choice sex --choice sex,region

      reissue utility --given --table january.csv --policy policy.toml
    """
    from reissue.cli.estimate import check_new, write_frame
    from reissue.cli.given_tables import Asked, compare_given
    from reissue.cli.selecting import chosen, note_unless_continued
    from reissue.errors import ParameterError
    from reissue.publishing.series import open as open_series
    from reissue.utility import Workload

    if given and weights is not None:
        raise ParameterError("--weights weighs what generalisation takes away, and does not go with --given.")
    if given and (ask or questions or out):
        raise ParameterError("--ask, --questions and --out do not go with --given.", hint="ask one after the other.")
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
    own_questions = [*(ask or []), *_in_file(questions)]
    if out is not None:
        check_new([out], False)
    if out is not None and not own_questions:
        raise ParameterError("--out writes answers to questions, and there are none.", hint="add --ask or --questions.")
    with steps("Measuring") as progress, open_series(series) as opened:
        note_unless_continued(series)
        release = chosen(opened, number)
        workload = None
        if queries:
            columns = len(release.manifest["columns"])
            workload = Workload(dimensions or min(2, columns), selectivity, count=queries, seed=seed)
        measured = opened.utility(
            release.number, workload=workload, questions=own_questions, weights=_weights(weights), progress=progress
        )
    if out is not None and measured.answers is not None:
        write_frame(measured.answers.each, out)
    if as_json:
        print_json({"number": release.number, **measured.to_dict()})
        return
    frame = measured.frame()
    print_table(f"What release {release.number} cost", frame.columns, frame.rows(), left=(0, 2))
    if measured.answers is not None:
        _show_answers(measured.answers)
    say(measured.sentence)
    if out is not None:
        say(f"wrote {out}")


def _in_file(path: Path | None) -> list[str]:
    """The questions of a file."""
    from reissue.errors import ParameterError

    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ParameterError(
            f"'{path}' cannot be read.", hint="give a text file with a question in each line."
        ) from None
    found = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    if not found:
        raise ParameterError(f"There is no question in '{path}'.", hint="write one in each line: share of flu by sex")
    return found


def _show_answers(answers: Answers) -> None:
    """A table for each question; what there is no answer to says why."""
    import polars as pl

    for (question,), part in answers.each.group_by("question", maintain_order=True):
        figures = [pl.col(name).round_sig_figs(3) for name in ("truth", "estimate", "low", "high", "no_link")]
        shown = part.select("group", pl.col("people").round(1), *figures, "inside").rename({"no_link": "no link"})
        if part["interval"].unique().to_list() == ["none"]:
            shown = shown.drop("low", "high", "inside")
        kinds = part["interval"].unique(maintain_order=True).to_list()
        told = "no interval" if kinds == ["none"] else f"low and high: {' or '.join(kinds)}"
        print_table(f"{question}; {told}", shown.columns, shown.rows(), left=(0,))
        for reason in part["unanswered"].drop_nulls().unique(maintain_order=True):
            note(f"not answered: {reason}")
    ranks = answers.questions.filter(pl.col("rank").is_not_null())
    for question, rank in ranks.select("question", "rank").iter_rows():
        say(f"order of the groups kept in '{question}': {rank:.2f} (1 the same, 0 none)")


def _weights(text: str | None) -> dict[str, float] | None:
    from reissue.errors import ParameterError

    if text is None:
        return None
    try:
        return {name: float(weight) for name, _, weight in (part.rpartition("=") for part in text.split(","))}
    except ValueError:
        raise ParameterError("--weights takes column=number, separated by commas: age=0.6,sex=0.4") from None
