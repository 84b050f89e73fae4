"""`reissue audit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli.hierarchy_files import read_hierarchies
from reissue.cli.output import AsJson, print_json, settle, stages
from reissue.cli.reading_options import (
    Counts,
    File,
    Git,
    Keep,
    Labels,
    Missing,
    Options,
    ReadingOptions,
    Rename,
    Save,
    Sheet,
    Yes,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from reissue.attacks.sentences import Witness
    from reissue.auditing.naming import Called
    from reissue.auditing.report import AuditReport
    from reissue.foreign.suppression import Suppression
    from reissue.model.assumptions import AssumptionName
    from reissue.model.hierarchy import Hierarchy
    from reissue.model.knowledge import Knowledge, Minimal
    from reissue.model.published import Published
    from reissue.model.value_change import ValueChange
    from reissue.publishing.made_up import Recognition


@dataclass(frozen=True)
class Questions:
    """What the attacks are asked."""

    attacks: list[str] | None
    limit: Fraction | None
    seconds: float
    steps: int | None
    threshold: float
    accept: list[str]


@dataclass(frozen=True)
class Assumed:
    """What is said about assumptions."""

    said: frozenset[AssumptionName]
    dropped: frozenset[AssumptionName]
    perturbed: str | None

    def __bool__(self) -> bool:
        return bool(self.said or self.dropped or self.perturbed)


@dataclass(frozen=True)
class Adversary:
    """What the adversary knows beside the releases."""

    compromised: str | None
    permanent: list[str]
    change: ValueChange | None
    participation: float
    waiting: bool
    counterfeits: Recognition | None
    seed: int | None
    assumed: Assumed


@dataclass(frozen=True)
class ForeignOptions:
    """How releases made elsewhere are read, and what is known of them; a series says all that itself."""

    quasi: list[str] | None
    hierarchy: dict[str, Hierarchy]
    registry: Path | None
    person: str | None
    present: Path | str | None
    drop: list[str]
    group: str | None
    suppressed: Suppression | None
    growing: bool
    minimal: str | None
    protect: list[str]


def audit(
    context: typer.Context,
    target: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TARGET...", help="The folder of a series, or releases made elsewhere: a folder or files."
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            help="The largest probability of a value for anybody: 0.5 or 1/2; by default what a series promises."
        ),
    ] = None,
    attacks: Annotated[
        str | None, typer.Option(help="The attacks to run, separated by commas; by default all but Likelihood.")
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            min=0.001, help="How long everything may take: reading, all attacks, the report and the findings."
        ),
    ] = 60.0,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How much work the attacks may do, in steps of about a microsecond: the same gives the same figures. "
            "By default 500,000 for each of the seconds.",
        ),
    ] = None,
    compromised: Annotated[
        str | None,
        typer.Option(
            help="Whose values the adversary knows: a rate such as 0.04 (a series only), or a file with the columns "
            "person and value (releases made elsewhere only)."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Draw the same compromised people again.")] = None,
    participation: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="A series with a registry: for what share of people the adversary knows when they are in it.",
        ),
    ] = 0.0,
    permanent: Annotated[
        list[str] | None,
        typer.Option(
            help="Values that nobody ever loses, separated by commas; all others may then change. May be repeated."
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOW",
            help="Values may change: people=5 (of five people at most), rate=0.02 (between two releases), or free. May "
            "be repeated.",
        ),
    ] = None,
    follows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE=VALUES",
            help='What a value may have become by the next release: "Active=Resolved,Fatal"; "Fatal=" is never left. '
            "Or a table with the columns value and follows. May be repeated.",
        ),
    ] = None,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="The adversary knows the method and who waited (Incremental only).")
    ] = False,
    counterfeits: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="A series only: the adversary knows which rows are counterfeits. recognised: with the value of each; "
            "argued: and that none is made where a value is not lacking.",
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The re-identification risk above which a row is at risk.")
    ] = 0.09,
    accept: Annotated[
        str | None, typer.Option(help="What passes although it is not proven: undecided, sampled.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report to this file.")] = None,
    findings: Annotated[
        Path | None,
        typer.Option(
            "--findings",
            metavar="FILE",
            help="Write all findings, everybody, with lines of files: FILE.csv or FILE.parquet.",
        ),
    ] = None,
    long: Annotated[bool, typer.Option("--long", help="Print every attack, finding, criterion and note.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    show_people: Annotated[
        bool, typer.Option("--show-people", help="Private: name people instead of numbering them.")
    ] = False,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Private: name sensitive values instead of lettering them.")
    ] = False,
    sensitive: Annotated[
        str | None,
        typer.Option(
            help="Releases made elsewhere: the sensitive column, or several, separated by commas. Needed for them."
        ),
    ] = None,
    quasi: Annotated[
        str | None, typer.Option(help="The quasi-identifiers, separated by commas; all other columns by default.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="The column that numbers the groups; rows with equal cells by default.")
    ] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, separated by commas.")] = None,
    person: Annotated[str | None, typer.Option(help="The column that says who it is.")] = None,
    registry: Annotated[
        Path | None, typer.Option(help="A table of people with their exact quasi-identifiers; needs --person.")
    ] = None,
    present: Annotated[
        str | None,
        typer.Option(
            help="Who of the registry is in the releases: all, or a file with the columns person and release."
        ),
    ] = None,
    suppressed: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Whose the rows are that show no quasi-identifier (*). class: people's who fit no published class, as "
            "with full-domain recoding; anywhere: anybody's.",
        ),
    ] = None,
    growing: Annotated[
        bool, typer.Option("--growing", help="Nobody who is in a release is missing from a later one.")
    ] = False,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|no-NAME",
            help="What is known to hold, or with no- not to hold: values-stay, cells-stay, nobody-leaves, presence, "
            "registry-complete, unperturbed, suppressed-class. It is tested on the releases all the same. May be "
            "repeated.",
        ),
    ] = None,
    perturbed: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Cells were perturbed before they were published, and how: pram=0.02, noise, swapping. Then nothing "
            "is certain.",
        ),
    ] = None,
    minimal: Annotated[
        str | None,
        typer.Option(
            help="What every group had to keep, and that none is larger than it asks: l=2 (shares), k=5, alpha=1/3, "
            "c=3,l=3 (recursive), t=0.2, k=2,e=5; recoding=local, global or full-domain. Needs --registry."
        ),
    ] = None,
    protect: Annotated[
        list[str] | None,
        typer.Option(
            help="For --minimal: values protected together, separated by commas; may be repeated. With a single "
            "release the limit is then for them."
        ),
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option(help="column=file, the hierarchy behind a column's labels; may be repeated.")
    ] = None,
    keep: Keep = None,
    labels: Labels = None,
    missing: Missing = None,
    rename: Rename = None,
    yes: Yes = False,
    counts: Counts = None,
    git: Git = None,
    file: File = None,
    sheet: Sheet = None,
    options: Options = None,
    save: Save = None,
    as_json: AsJson = False,
) -> None:
    """Attack a series of releases as an outsider would, and say what the releases reveal together.

    Exit code 0: everything asked is proven to be within the limits. 1: it is not.

    Of a series it also says how many of an outsider's conclusions are wrong, as the ledger knows.

    Examples:

      reissue audit clinic --html report.html --findings findings.csv

      reissue audit releases/ --sensitive diagnosis --registry people.csv --person name --limit 1/2

      reissue audit releases/ --sensitive outcome --limit 1/2 --yes --save audit.toml

      reissue audit --git repository --file cases.csv --sensitive outcome --limit 1/2

      reissue audit table.csv --sensitive diagnosis --registry people.csv --person name --present all --limit 1/2
      --minimal l=2 --protect HIV,hepatitis

      reissue audit releases/ --sensitive outcome --person id --limit 1/2 --assume no-values-stay

      reissue audit releases/ --sensitive outcome --limit 1/2 --perturbed pram=0.02

      reissue audit releases/ --sensitive outcome --registry people.csv --person id --present all --limit 1/2
      --follows "Active=Resolved,Fatal" --follows "Fatal="
    """
    from time import monotonic

    from reissue.arrays.budget import Budget
    from reissue.auditing.naming import Naming
    from reissue.cli.audit_printing import print_report
    from reissue.cli.changing_values import value_change_of
    from reissue.errors import ParameterError

    if findings is not None:
        from reissue.auditing.finding_table import check_file

        check_file(findings)
    written = [one for one in (html, findings) if one is not None]
    for one in written:
        if one.exists() and not force:
            raise ParameterError(f"There is a file '{one}' already.", hint="name another file, or pass --force.")
    asked = Questions(_names(attacks), _limit(limit), seconds, steps, threshold, _names(accept) or [])
    if waiting and asked.attacks is not None and "Channels" not in asked.attacks:
        raise ParameterError(
            "--waiting tells Channels something, and --attacks leaves it out.", hint="add Channels to --attacks."
        )
    elsewhere = ForeignOptions(
        quasi=_names(quasi),
        hierarchy=read_hierarchies(hierarchy),
        registry=registry,
        person=person,
        present=present if present in (None, "all") else Path(str(present)),
        drop=_names(drop) or [],
        group=group,
        suppressed=_suppression(suppressed),
        growing=growing,
        minimal=minimal,
        protect=protect or [],
    )
    reading = ReadingOptions.of(keep, labels, missing, rename, yes, counts, git, file, sheet, save)
    where = reading.check(target or [], force=force)
    lasting = [value for some in permanent or [] for value in _names(some) or []]
    changing = value_change_of(change or [], follows or [])
    if changing is not None and lasting:
        raise ParameterError(
            "--permanent cannot be used with --change or --follows.",
            hint='say of permanent values that they are never left: --follows "HIV="',
        )
    known = Adversary(
        compromised,
        lasting,
        changing,
        participation,
        waiting,
        _recognition(counterfeits, asked),
        seed,
        _assumed(assume or [], perturbed),
    )
    called: Called | None = None
    # To load the command takes a moment that whoever waits for it sees.
    began = context.obj if isinstance(context.obj, float) else monotonic()
    budget = Budget(began + seconds)
    with stages(_stages(asked), seconds) as progress, budget.spending():
        if sensitive is None:
            _refuse_options_of(elsewhere, reading)
            report, called = _series(where, asked, known, show_people, progress)
        else:
            report = _foreign(where, sensitive, elsewhere, reading, asked, known, show_values, progress, context)
        progress("Reporting")
        data = report.to_dict(show_people=show_people, show_values=show_values, called=called) if as_json else {}
        if html is not None:
            report.to_html(html, show_people=show_people, show_values=show_values, called=called)
        if findings is not None:
            report.to_findings(findings, show_people=show_people, show_values=show_values, called=called)
    settle(0 if report.passed else 1)
    if as_json:
        files = {
            name: None if file is None else str(file) for name, file in (("html", html), ("findings_file", findings))
        }
        print_json({**data, **files})
    else:
        print_report(
            report,
            Naming(report.published, show_people, show_values, called),
            long=long,
            wrote=[*written, *([] if save is None else [save])],
        )
    if not report.passed:
        raise typer.Exit(1)


def _stages(asked: Questions) -> int:
    """Reading, testing assumptions, each attack, and the report."""
    from reissue.attacks import default_attacks

    return len(default_attacks() if asked.attacks is None else asked.attacks) + 3


def _series(
    target: list[Path], asked: Questions, known: Adversary, show_people: bool, progress: Callable[[str], None]
) -> tuple[AuditReport, Called | None]:
    from reissue.cli.selecting import note_unless_continued
    from reissue.errors import NotASeries, ParameterError
    from reissue.publishing.series import open as open_series

    progress("Reading the series")
    compromised = _rate(known.compromised)
    if len(target) > 1:
        raise _elsewhere(f"{len(target)} files or folders are not a series")
    try:
        opened = open_series(target[0])
    except NotASeries:
        if not target[0].exists():
            raise ParameterError(
                f"There is no file or folder '{target[0]}'.", hint="name the folder of a series, or files of releases."
            ) from None
        raise _elsewhere(f"There is no series in '{target[0]}'") from None
    with opened:
        note_unless_continued(target[0])
        if not opened.releases:
            raise ParameterError("The series has no release yet.", hint="reissue publish <series> <table>")
        report = opened.audit(
            _beside(known),
            attacks=asked.attacks,
            limit=asked.limit,
            seconds=asked.seconds,
            steps=asked.steps,
            compromised=compromised,
            participation=known.participation,
            waiting=known.waiting,
            counterfeits=known.counterfeits,
            seed=known.seed,
            accept=asked.accept,
            threshold=asked.threshold,
            progress=progress,
        )
        if not show_people:
            return report, None
        # Names are looked up while the series is open, those of the findings only.
        witnesses = [finding.witness for finding in (*report.leading, *report.mistaken, *report.suspicions)]
        witnesses += [witness for _, witness in report.unasked]
        numbers = {number for witness in witnesses for number in _everybody(witness) if number >= 0}
        numbers |= {number for finding in report.findings for number in finding.people if number >= 0}
        names = {number: str(opened.private.name_of(number)) for number in numbers}
    return report, lambda number: names.get(number, f"person {number}")


def _beside(known: Adversary) -> Knowledge | None:
    """What the adversary of a series is told beside its policy: permanent values, change, assumptions."""
    from reissue.model.knowledge import Knowledge

    if not known.permanent and not known.assumed and known.change is None:
        return None
    one = known.assumed
    return Knowledge(
        permanent=known.permanent,
        change=known.change,
        said=one.said,
        dropped=one.dropped,
        perturbed=one.perturbed,
    )


def _assumed(names: list[str], perturbed: str | None) -> Assumed:
    """What `--assume` and `--perturbed` say."""
    from reissue.errors import ParameterError, listed
    from reissue.model.assumptions import ASSUMPTIONS

    held: dict[str, AssumptionName] = {name: name for name in ASSUMPTIONS}
    given = [name.strip() for some in names for name in some.split(",") if name.strip()]
    unknown = [name for name in given if name.removeprefix("no-") not in held]
    if unknown:
        raise ParameterError(
            f"--assume does not know {listed(unknown)}.",
            hint=f"it takes {listed(ASSUMPTIONS)}, or one of them with no- before it.",
        )
    said = frozenset(held[name] for name in given if name in held)
    dropped = frozenset(held[name.removeprefix("no-")] for name in given if name not in held)
    if perturbed is not None and not perturbed.strip():
        raise ParameterError("--perturbed says how: pram=0.02, noise, swapping, or unknown.")
    if perturbed is not None and "unperturbed" in said:
        raise ParameterError("--perturbed and --assume unperturbed contradict each other.")
    if both := sorted(said & dropped):
        raise ParameterError(f"--assume says that {listed(both)} holds, and that it does not.")
    return Assumed(said, dropped, perturbed)


def _shown_values(values: list[str], published: Published) -> list[object]:
    """Values given as text, as the releases have them; one that no release shows is a mistake."""
    from reissue.errors import ParameterError, count_of

    by_text = {str(value): value for value in published.values}
    if unknown := sum(value not in by_text for value in values):
        raise ParameterError(
            f"--permanent names {count_of(unknown, 'value')} that no release shows.",
            hint="spell values as they are published.",
        )
    return [by_text[value] for value in values]


def _everybody(witness: Witness) -> set[int]:
    """The people in a derivation."""
    from reissue.attacks.sentences import Person

    return {part.number for sentence in witness.sentences for part in sentence if isinstance(part, Person)}


def _foreign(
    target: list[Path],
    sensitive: str,
    given: ForeignOptions,
    reading: ReadingOptions,
    asked: Questions,
    known: Adversary,
    show_values: bool,
    progress: Callable[[str], None],
    context: typer.Context,
) -> AuditReport:
    from reissue.auditing.running import audit as run_audit
    from reissue.auditing.subject import Subject
    from reissue.cli.changing_values import as_shown
    from reissue.cli.minimal import minimal_of
    from reissue.errors import ParameterError
    from reissue.foreign.option_texts import names_of
    from reissue.foreign.reading import read_releases
    from reissue.guarantees import AlphaKAnonymous
    from reissue.model.knowledge import Knowledge

    if known.participation:
        raise ParameterError(
            "--participation is for a series: for releases made elsewhere, --present says who is in them."
        )
    if known.waiting:
        raise ParameterError("--waiting is for a series: nobody knows who waited for releases made elsewhere.")
    if known.counterfeits:
        raise ParameterError("--counterfeits is for a series: nobody knows which rows made elsewhere are nobody's.")
    if asked.limit is None:
        raise ParameterError(
            "--limit is needed for releases made elsewhere: nobody said what they promise.",
            hint="say with what probability anybody may be tied to a value at most: --limit 1/2",
        )
    if given.protect and given.minimal is None:
        raise ParameterError("--protect needs --minimal: what had to be kept for these values.")
    minimal = None if given.minimal is None else minimal_of(given.minimal, given.protect)
    if minimal is not None and given.registry is None:
        raise ParameterError("--minimal needs a --registry: it argues from who has the same quasi-identifiers.")
    told: list[str] = []
    progress("Reading the releases")
    read = read_releases(
        None if reading.git else target[0] if len(target) == 1 and target[0].is_dir() else target,
        sensitive=names_of(sensitive),
        quasi=given.quasi,
        hierarchies=given.hierarchy,
        registry=given.registry,
        person=given.person,
        present=None if "presence" in known.assumed.dropped else given.present,
        drop=given.drop,
        group=given.group,
        suppressed=given.suppressed,
        show_values=show_values,
        **reading.parameters(),
    )
    told += reading.saved(context, read.decisions, target)
    limit: Fraction | None = asked.limit
    promises: list[AlphaKAnonymous] = []
    if minimal is not None and minimal.protect:
        told += _check_protected(minimal, read.published)
        # What is protected is what the limit is about, where that can be judged: in one release.
        if len(read.published.releases) == 1:
            promises = [AlphaKAnonymous(asked.limit, protect=tuple(map(tuple, minimal.protect)))]
            limit = None
    knowledge = Knowledge(
        compromised={} if known.compromised is None else _known(Path(known.compromised), read.published),
        growing=given.growing or None,
        minimal={} if minimal is None else {release.number: minimal for release in read.published.releases},
        permanent=_shown_values(known.permanent, read.published),
        said=known.assumed.said,
        dropped=known.assumed.dropped,
        perturbed=known.assumed.perturbed,
        change=as_shown(known.change, read.published.values),
    )
    report = run_audit(
        read.published,
        knowledge,
        attacks=asked.attacks,
        limit=limit,
        form=read.form,
        seconds=asked.seconds,
        steps=asked.steps,
        threshold=asked.threshold,
        promises=promises,
        accept=asked.accept,
        progress=progress,
    )
    unmatched = [f"release {number}: {count:,} {what}" for number, what, count in read.unmatched.iter_rows()]
    return replace(
        report,
        promises=(),
        remarks=(*read.notes, *unmatched, *report.remarks, *told),
        subject=Subject(
            reading.called or _called(target),
            read.quasi,
            read.sensitive,
            names := dict(enumerate(read.names, 1)),
            names,
            read.doubts,
        ),
    )


def _called(target: list[Path]) -> str:
    """What files are called together."""
    return target[0].name or str(target[0]) if len(target) == 1 else f"{len(target)} files"


def _check_protected(minimal: Minimal, published: Published) -> list[str]:
    """What to note about protected values that no release has; a set without any that it has is a mistake."""
    from reissue.errors import ParameterError, count_of

    published_values = {str(value) for value in published.values}
    unknown = [[value for value in values if str(value) not in published_values] for values in minimal.protect]
    if any(len(lacking) == len(values) for lacking, values in zip(unknown, minimal.protect, strict=True)):
        raise ParameterError(
            "--protect names a set of which no release has any value.",
            hint="spell values as they are published, in upper or lower case.",
        )
    absent = sum(map(len, unknown))
    return [f"{count_of(absent, 'protected value is', 'protected values are')} in no release"] if absent else []


def _known(path: Path, published: Published) -> dict[str | int, object]:
    """People and their values from a file."""
    import polars as pl

    from reissue.errors import TableError
    from reissue.tables.frames import read_table

    frame, _ = read_table(path, text=("person", "value"))
    if not {"person", "value"} <= {*frame.columns}:
        raise TableError(f"'{path.name}' must have the columns 'person' and 'value'.")
    frame = frame.select(pl.col("person").cast(pl.String), pl.col("value").cast(pl.String))
    if frame.null_count().sum_horizontal().item() or frame["person"].n_unique() < frame.height:
        raise TableError(f"'{path.name}' must have one line for each person, with nothing missing.")
    # Text is how a file has it; the view may have numbers.
    spelt = {str(value): value for value in published.values}
    values = [spelt.get(value, value) for value in frame["value"].to_list()]
    return dict(zip(frame["person"].to_list(), values, strict=True))


def _limit(text: str | None) -> Fraction | None:
    from reissue.arrays.exact import probability_of
    from reissue.errors import ParameterError

    limit = None if text is None else probability_of(text)
    if text is not None and limit is None:
        raise ParameterError(f"--limit takes a probability such as 0.5 or 1/2. Got '{text}' instead.")
    return limit


def _recognition(text: str | None, asked: Questions) -> Recognition | None:
    from reissue.errors import ParameterError, listed
    from reissue.publishing.made_up import RECOGNITIONS

    found = next((one for one in RECOGNITIONS if one == text), None)
    if text is not None and found is None:
        raise ParameterError(f"--counterfeits takes {listed(RECOGNITIONS)}. Got '{text}' instead.")
    if found == "argued" and asked.attacks is not None and "Worlds" not in asked.attacks:
        raise ParameterError(
            "--counterfeits argued tells Worlds something, and --attacks leaves it out.",
            hint="add Worlds to --attacks.",
        )
    return found


def _suppression(text: str | None) -> Suppression | None:
    from reissue.errors import ParameterError, listed
    from reissue.foreign.suppression import SUPPRESSIONS

    found = next((one for one in SUPPRESSIONS if one == text), None)
    if text is not None and found is None:
        raise ParameterError(f"--suppressed takes {listed(SUPPRESSIONS)}. Got '{text}' instead.")
    return found


def _rate(text: str | None) -> float:
    from reissue.errors import ParameterError

    if text is None:
        return 0.0
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            "--compromised takes a rate such as 0.04 for a series; a file is for releases made elsewhere."
        ) from None


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _refuse_options_of(*given: ForeignOptions | ReadingOptions) -> None:
    options = [f"--{option.name}" for one in given for option in fields(one) if getattr(one, option.name)]
    if options:
        raise _elsewhere(f"{', '.join(options)} can be used for releases made elsewhere only")


def _elsewhere(what: str) -> Exception:
    from reissue.errors import ParameterError

    return ParameterError(
        f"{what}.", hint="for releases made elsewhere say which column is sensitive: --sensitive diagnosis --limit 1/2"
    )
