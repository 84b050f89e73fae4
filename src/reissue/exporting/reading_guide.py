"""README.md of a package: what was done, how sure it is, what may not be true, how to estimate and to cite.

Everything in it follows from the public records and tables, and from what the sender said. Names and labels are other
people's: they stand in code, and nothing in them can end it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reissue.errors import count_of, printable
from reissue.exporting.about import About
from reissue.exporting.codebook import QUASI, SENSITIVE, ColumnNote
from reissue.exporting.descriptor import title_of
from reissue.exporting.public_releases import ReleaseToSend
from reissue.guarantees import GUARANTEES
from reissue.methods import METHODS
from reissue.model.change import change_in_words
from reissue.model.hierarchy import MISSING
from reissue.model.release import rows_in_words
from reissue.model.sets import OTHERS
from reissue.tables.set_views import FORM
from reissue.utility.analysing.groups_asked import FAITHFUL, REPLACING
from reissue.utility.analysing.what_it_rests_on import notes_on
from reissue.utility.row_scores import why_not_by_design

FEW = 12
"""So many labels of a column are named; labels.csv has all."""
ADOPTED = "adopted"
ALL_RELEASES = "all releases of the series so far"
PAIRWISE = "inference-freedom"
"""The promise that is about two releases at a time."""


@dataclass(frozen=True)
class Sent:
    """What is known of a package when its guide is written."""

    releases: Sequence[ReleaseToSend]
    about: About
    kind: str
    """`csv`, `parquet` or `excel`."""
    notes: Sequence[ColumnNote]
    counterfeits: Mapping[int, int]
    """Of releases that tell of them: how many rows are counterfeits."""
    formulas: Sequence[str]
    """Columns with texts that a spreadsheet could take for a formula."""
    hierarchies: Mapping[str, str]
    """The files of hierarchies that are sent, by column."""


def guide(sent: Sent) -> str:
    """The text of README.md."""
    parts = [
        [f"# {_plain(title_of(sent.releases, sent.about))}", "", *_what_it_is(sent)],
        ["## What is in the folder", "", *_files(sent)],
        ["## What was done", "", *_done(sent)],
        ["## What is promised, and what is not", "", *_promised(sent)],
        ["## What may not be true", "", *_untrue(sent)],
        ["## Reading the tables", "", *_reading(sent)],
        ["## How to estimate", "", *_estimating(sent)],
        ["## Columns", "", *_columns(sent)],
        ["## Is it complete?", "", *_complete(sent)],
        ["## How to cite it", "", *_citing(sent)],
    ]
    return "\n".join("\n".join([*part, ""]) for part in parts)


def _plain(text: str) -> str:
    """Other people's words in a line of Markdown."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in printable(text))


def _code(text: str) -> str:
    """A name or a label as code, whatever is in it; bars are escaped for tables."""
    shown = printable(text).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in _runs(shown)), default=0) + 1)
    blank = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) or not shown else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def _runs(text: str) -> list[str]:
    found, run = [], ""
    for char in f"{text} ":
        if char == "`":
            run += char
        elif run:
            found.append(run)
            run = ""
    return found


def _by_release(sent: Sent, say: Callable[[ReleaseToSend], Iterable[str]]) -> list[str]:
    """Sentences as a list, each once; with the releases it is about unless that is all of them."""
    said: dict[str, list[int]] = {}
    for release in sent.releases:
        for sentence in say(release):
            said.setdefault(sentence, []).append(release.number)
    lines = []
    for sentence, numbers in said.items():
        which = "" if len(numbers) == len(sent.releases) else f"{_numbers(numbers)}: "
        lines.append(f"- {which}{sentence}")
    return lines


def _numbers(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"Release {numbers[0]}"
    return f"Releases {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _what_it_is(sent: Sent) -> list[str]:
    lines = [
        f"This is data about people{protection(sent.releases)}. Read this page before you use it: it says what was "
        "blurred, what may not be true, and how to get right answers from it.",
        "",
        "| release | about | made on | rows | form |",
        "|---|---|---|---|---|",
    ]
    for release in sent.releases:
        record = release.record
        period = "not said" if release.period is None else _plain(release.period)
        made = f"{release.time:%Y-%m-%d}"
        lines.append(f"| {release.number} | {period} | {made} | {record['rows']:,} | {record['form']} |")
    lines += [f"\n{told}" for told in _corrections(sent.releases)]
    said = {"Publisher": sent.about.publisher, "Licence": sent.about.licence, "Contact": sent.about.contact}
    lines += [f"\n{name}: {_plain(text)}" for name, text in said.items() if text is not None]
    if sent.about.licence is None:
        lines.append("\nNo licence was named: ask the publisher what you may do with it.")
    return lines


def _corrections(releases: Sequence[ReleaseToSend]) -> list[str]:
    """Which releases were corrected, and which one to use instead: the last, where a correction was corrected."""
    by: dict[int, list[int]] = {}
    for release in releases:
        wrong = release.record.get("corrects")
        if isinstance(wrong, int) and wrong < release.number:
            by.setdefault(wrong, []).append(release.number)

    def last(number: int) -> int:
        return last(max(by[number])) if number in by else number

    return [
        f"**{_numbers(numbers)} {'corrects' if len(numbers) == 1 else 'correct'} release {wrong}: use release "
        f"{last(wrong)} in its place.**"
        for wrong, numbers in by.items()
    ]


def protection(releases: Sequence[ReleaseToSend]) -> str:
    """How far it protects people, to be said after what it is; no more than the records promise."""
    if any(not release.record.get("guarantees") or release.record["series"] == ADOPTED for release in releases):
        return ""
    alone = any(release.record["series"] != "protected" for release in releases)
    return ", published in a form that protects them" + (" in each release alone" if alone else "")


def _files(sent: Sent) -> list[str]:
    where = ""
    if sent.releases[0].place:
        where = "in a folder for each release, " if len(sent.releases) > 1 else f"in `{sent.releases[0].place}`, "
    tables = {
        "csv": f"the public tables, {where}as CSV",
        "parquet": f"the public tables, {where}as Parquet, byte for byte as they were published",
        "excel": f"the public tables, {where}as sheets of a workbook, with the codebook",
    }[sent.kind]
    names: dict[str, list[int]] = {}
    for release in sent.releases:
        for name in release.names:
            names.setdefault(name, []).append(release.number)
    ending = {"csv": ".csv", "parquet": ".parquet", "excel": ""}[sent.kind]
    shown = ["tables.xlsx"] if sent.kind == "excel" else [f"{name}{ending}" for name in names]
    return [
        "| file | content |",
        "|---|---|",
        f"| {', '.join(_code(name) for name in shown)} | {tables} |",
        *(["| sheets | " + ", ".join(_code(name) for name in names) + " |"] if sent.kind == "excel" else []),
        "| `release.json` | the public record of the release: method, parameters, promises, hashes |",
        "| `codebook.csv`, `labels.csv` | what every column is, how it was coarsened, what is missing; every label "
        "that occurs |",
        *(
            f"| {_code(file)} | what the labels of {_code(column)} stand for; `reissue estimate` finds it by itself |"
            for column, file in sent.hierarchies.items()
        ),
        "| `datapackage.json` | the same for programs: a Data Package, version 2 |",
        "| `export.json` | the SHA-256 of every file as it was sent, tied to the record |",
    ]


def _done(sent: Sent) -> list[str]:
    elsewhere = any(_method(release) == ADOPTED for release in sent.releases)
    if elsewhere:  # what is in it is for others to say
        return _by_release(sent, _done_to)
    return [
        *_by_release(sent, _done_to),
        "",
        "Nothing else of the private table is here: no ids, no columns that are not listed below, and no order of "
        "rows that tells anything.",
    ]


def _method(release: ReleaseToSend) -> str:
    return str(release.record["method"]["name"])


def _may_have_counterfeits(release: ReleaseToSend) -> bool:
    return release.record["form"] != FORM and _method(release) not in (*FAITHFUL, *REPLACING, ADOPTED)


def _done_to(release: ReleaseToSend) -> list[str]:
    record, design = release.record, release.record.get("design")
    method = dict(record["method"])
    name = str(method.pop("name"))
    if name == ADOPTED:
        return [
            "It was made elsewhere and taken into this series as it was. How, and what it promises, is not known here."
        ]
    told = ", ".join(f"{key} = {_value(value)}" for key, value in method.items())
    kind = METHODS.get(name)
    lines = [
        f"Method: {_code(name)}{'' if kind is None else f', {_plain(kind.words)}'}.",
        *([f"Its parameters: {_plain(told)}."] if told else []),
        _FORMS.get(str(record["form"]), f"Form: {_plain(str(record['form']))}."),
    ]
    if design is not None:
        what = "records" if "columns" in design else "values"
        lines.append(
            f"{rows_in_words(record['rows'], record['groups'], design)}. Sets are made of {design['values']:,} "
            f"{what}; how they are drawn is public: the table {_code('design')} has it."
        )
        lines.append(
            f"How values change from release to release, as sets take it: {change_in_words(design['change'])}."
        )
        if design["linked"]:
            lines.append("The places of a set are lives: each goes on in the next release.")
    else:
        lines.append(f"{rows_in_words(record['rows'], record['groups'], None)}.")
    return lines


def _value(value: object) -> str:
    """A parameter as the record has it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value(one)}" for key, one in value.items()) + "}"
    return "[" + ", ".join(map(_value, value)) + "]" if isinstance(value, list | tuple) else str(value)


_FORMS = {
    "generalised": "People were put into groups. A group shows of its quasi-identifiers one region for all (intervals, "
    "sets of labels, labels of a hierarchy), and its sensitive values, but not whose is which.",
    "anatomised": "People were put into groups. The table 'quasi' has everybody's quasi-identifiers and group, the "
    "table 'sensitive' how often each value occurs in each group. Which row has which value is not published.",
    FORM: "Everybody is published with a set of sensitive values of which one is true. The others were drawn by a "
    "public design.",
}


def _promised(sent: Sent) -> list[str]:
    lines = _by_release(sent, _promises_of)
    warned = _by_release(sent, lambda release: map(_plain, release.record.get("warnings", ())))
    if warned:
        lines += ["", "The public record warns:", "", *warned]
    alone = any(release.record["series"] == "unprotected" for release in sent.releases)
    has = "one release and no other" if alone else "the releases"
    return [
        *lines,
        "",
        f"A promise is about what the tables add. It is made against somebody who has {has} and knows the "
        "quasi-identifiers of everybody, not against somebody who knows values, or what makes one value likelier "
        "than another for a certain person. What is true of people in general, the tables tell of everybody.",
        *_limits(sent),
        "",
        f"**Do not try to find out who somebody is, or what somebody's value is.**{_doubt(sent)}",
    ]


def _doubt(sent: Sent) -> str:
    """Why what seems to be certain need not be so; nothing where all rows are true, and values stay."""
    if any(release.record["form"] != FORM and _method(release) not in FAITHFUL for release in sent.releases):
        return " Where a value seems to be certain, it may be so because a row is not true."
    if any(release.record["form"] == FORM and release.record["design"]["change"] for release in sent.releases):
        return " Where releases seem to leave somebody one value, it need not be theirs: values change between them."
    return ""


def _limits(sent: Sent) -> list[str]:
    """What promises about groups leave open."""
    lines = []
    if any(release.record["form"] != FORM for release in sent.releases):
        lines.append(
            "A promise that counts people or different values in a group bounds no probability: a group may show one "
            "value far more often than the others."
        )
    if any(map(_may_have_counterfeits, sent.releases)):
        lines.append("It is not made against somebody who can tell counterfeits from people.")
    return [line for sentence in lines for line in ("", sentence)]


def _promises_of(release: ReleaseToSend) -> list[str]:
    record = release.record
    guarantees = [_in_words(str(one)) for one in record.get("guarantees", ())]
    lines = [f"Checked before it was published: {one}." for one in guarantees]
    if not guarantees:
        lines.append("Nothing is promised of it.")
    series = record["series"]
    if series == "protected":
        pairs = any(str(one).startswith(PAIRWISE) for one in record.get("guarantees", ()))
        every = (
            "any two releases of the series so far, not over more of them"
            if pairs
            else "all releases of the series so far"
        )
        lines.append(f"The promises hold over {every} together.")
    elif series == "unprotected":
        alone = "The promises hold for this release alone. " if guarantees else ""
        lines.append(f"**{alone}Compared with other releases of the series it may expose people.**")
    if record.get("adopted") and series != ADOPTED:
        lines.append(f"{count_of(int(record['adopted']), 'release')} of this series came from elsewhere.")
    return lines


def _in_words(guarantee: str) -> str:
    """A promise of the record, with what it means where that is known."""
    kind = GUARANTEES.get(guarantee.partition(" (")[0])
    return _plain(guarantee if kind is None else f"{guarantee}: {kind.words}")


def _untrue(sent: Sent) -> list[str]:
    def said(release: ReleaseToSend) -> list[str]:
        method, rows = _method(release), int(release.record["rows"])
        withheld = "People of the table may have been withheld. How many is not disclosed."
        if method == ADOPTED:
            return ["Whether rows are counterfeits or values were replaced is not known: it was made elsewhere."]
        if release.record["form"] == FORM:
            if not release.record["design"].get("linked") and release.record["method"].get("changed") != "withhold":
                withheld = "Nobody who is in the table was withheld."
            return [
                "Every row is a person. **Of the values of a set one is true and all others are not**: never count a "
                "set's values as if all were.",
                withheld,
            ]
        if method in REPLACING:
            return [
                "**Some sensitive values may have been replaced by others.** Nothing marks them. How many is not "
                "disclosed.",
                withheld,
            ]
        if method in FAITHFUL:
            return ["Every row is a person, and every sensitive value is somebody's own.", withheld]
        if release.number in sent.counterfeits:
            made = sent.counterfeits[release.number]
            share = made / rows if rows else 0.0
            return [
                f"**{count_of(made, 'row')} of {rows:,} ({share:.1%}) "
                f"{'is a counterfeit' if made == 1 else 'are counterfeits'}**: "
                "they describe nobody, and stand where a group lacked a value. The table `counterfeits` says how "
                "many each group has, not which.",
                withheld,
            ]
        return [
            "**Rows may be counterfeits**: they describe nobody, and stand where a group lacked a value. Nothing "
            "marks them. How many is not disclosed.",
            withheld,
        ]

    return _by_release(sent, said)


def _reading(sent: Sent) -> list[str]:
    groups = any(release.record["form"] != FORM for release in sent.releases)
    lines = []
    if groups:
        lines.append(
            "- **Group numbers cannot be joined across releases.** They are counted afresh in every release: group 7 "
            "of one is not group 7 of another."
        )
    if len(sent.releases) > 1 or any(release.number > 1 for release in sent.releases):
        lines.append(
            "- Rows of different releases are not in the same order, and no column says which are the same person."
        )
    if sent.kind == "csv":
        lines += [
            "- CSV: UTF-8, commas, double quotes where a cell needs them (doubled inside), a line feed at the end of "
            'each line. An empty cell is no value; `""` is an empty text.',
            "- Labels may look like numbers (`007`): read columns with the types in `datapackage.json`. To open a "
            "file in Excel, import it as UTF-8 text, or ask for the package as Excel.",
        ]
    if sent.kind in ("csv", "excel"):
        lines.append(
            "- A set of values is one text, `{a,b,c}`. A value with a comma, brace or quote in it, or a blank at an "
            'end, stands in double quotes within the braces; `""` is a missing number, and `{}` no value at all.'
        )
    if sent.kind == "excel":
        lines.append(
            "- Texts are text cells, also those that look like formulas or numbers. Whole numbers of more than 15 "
            "digits, dates before March 1900 and times with fractions of a second are text."
        )
    if sent.formulas and sent.kind == "csv":
        lines.append(
            f"- **Careful with spreadsheets:** {', '.join(_code(name) for name in sent.formulas)} "
            f"{'has' if len(sent.formulas) == 1 else 'have'} texts that begin with `=`, `+`, `-` or `@`. They are "
            "labels; a spreadsheet may take them for formulas. Import these columns as text."
        )
    return lines


def _estimating(sent: Sent) -> list[str]:
    replaced = any(_method(release) in REPLACING for release in sent.releases)
    commands = _commands(sent)
    lines = [
        "With Reissue, the library that made this package, in this folder; every answer comes with its error:",
        "",
        "```sh",
        *commands,
        "```",
        "",
        "In Python, `ri.analyse(folder)` has `count`, `share`, `mean`, `contrast`, `table`, `trend` and `scores`. "
        "What the figures rest on:",
        "",
        *(f"- {_plain(note)}" for note in notes_on([release.public for release in sent.releases])),
    ]
    if any(release.record["form"] == FORM for release in sent.releases):
        lines += ["", *_scoring(sent)]
    lines += ["", "What not to do:", ""]
    if any(release.record["form"] == FORM for release in sent.releases):
        lines += [
            "- Do not count all values of a set as true, nor each with 1 over their number: that draws every group "
            "towards the average.",
            "- Do not use scores as regressors, only as the outcome: as a regressor a score is a variable with "
            "error, and coefficients shrink towards 0.",
        ]
    if any(release.record["form"] != FORM for release in sent.releases):
        lines.append("- Do not pair rows with values inside a group: the order says nothing.")
    if any(release.record["form"] != FORM or release.public.has_regions for release in sent.releases):
        lines.append("- Do not take middles of intervals for people's own numbers without saying so.")
    if replaced:
        lines.append("- Do not count sensitive values: some were replaced, and no estimate is right.")
    lines.append("- Do not join releases by group numbers or by the order of rows.")
    return lines


def _scoring(sent: Sent) -> list[str]:
    refused = [
        f"- Release {release.number}: values cannot be counted by the design, because {why}."
        for release in sent.releases
        if (why := why_not_by_design(release.number, release.record.get("design", {})))
    ]
    return [
        "For regressions take scores: `reissue estimate . --scores scores.csv` writes the published columns and, for "
        "each value, a column that is 1 on average for whoever has it and 0 for whoever has not. Use least squares "
        "with robust errors; over several releases cluster them by the column `cluster`.",
        "",
        "```text",
        "# R; score is a column of scores, x and z are published columns",
        'fit <- lm(score ~ x + z, data = read.csv("scores.csv"))',
        "coeftest(fit, vcov = vcovHC(fit))",
        "# Python, with statsmodels",
        'smf.ols("score ~ x + z", scores).fit(cov_type="HC1").summary()',
        "```",
        *(["", *refused] if refused else []),
    ]


def _commands(sent: Sent) -> list[str]:
    """Questions about what occurs, as far as they can be answered."""
    counted = [release for release in sent.releases if _can_be_counted(release)]
    last = (counted or sent.releases)[-1]
    mine = [note for note in sent.notes if last.number in note.releases and printable(note.column) == note.column]
    columns = list(last.public.sensitive_columns)
    few = [note for note in mine if note.role == QUASI and note.labels and len(note.labels) <= FEW]
    by = next((note.column for note in few if note.column in sent.hierarchies or not _is_region(last, note)), None)
    grouped = "" if by is None else f" --by {shlex.quote(by)}"
    commands = [f"reissue estimate .{grouped}"]
    value = _example_value(mine, columns) if counted else None
    one = "" if len(counted) == len(sent.releases) else f" --release {last.number}"
    if value is not None:
        commands.append(f"reissue estimate . {value}{grouped}{one}")
        commands += [f"reissue estimate . {value} --trend"] if len(counted) == len(sent.releases) > 1 else []
    if counted and len(columns) > 1 and all(printable(name) == name for name in columns):
        crossed = " ".join(f"--column {shlex.quote(name)}" for name in columns)
        commands.append(f"reissue estimate . --table {crossed}{one}")
    return commands


def _can_be_counted(release: ReleaseToSend) -> bool:
    """Whether values can be counted at all."""
    by_design = why_not_by_design(release.number, release.record.get("design", {})) is None
    return _method(release) not in REPLACING and by_design


def _example_value(notes: Sequence[ColumnNote], columns: Sequence[str]) -> str | None:
    """How to ask for a value that occurs; of several columns, the first."""
    for note in notes:
        if note.role != SENSITIVE or note.column != columns[0]:
            continue
        if note.labels is None:
            return "--mean" if len(columns) == 1 else f"--mean --column {shlex.quote(note.column)}"
        usable = [one for one in note.labels if one not in (MISSING, OTHERS) and printable(one) == one and one.strip()]
        if len(columns) > 1:  # a condition: column and value as its texts have them
            usable = [f"{note.column} = {one}" for one in usable if one.isalnum() and note.column.isidentifier()]
        if usable:
            return f"--value {shlex.quote(usable[0])}"
    return None


def _is_region(release: ReleaseToSend, note: ColumnNote) -> bool:
    return release.public.has_regions and release.public.kinds.get(note.column) == "hierarchy"


def _columns(sent: Sent) -> list[str]:
    lines = ["`codebook.csv` has the same as a table. Units are not recorded.", ""]
    tables = list(dict.fromkeys(note.table for note in sent.notes))
    every = {release.number for release in sent.releases}
    for table in tables:
        lines += [
            f"### {_code(table)}",
            "",
            "| column | role | type | content | missing | values |",
            "|---|---|---|---|---|---|",
        ]
        for note in sent.notes:
            if note.table != table:
                continue
            only = "" if set(note.releases) == every else f"{_numbers(note.releases)}. "
            cells = [_code(note.column), note.role, note.type, only + _table_text(note.content)]
            lines.append("| " + " | ".join([*cells, _table_text(note.missing), _values(note)]) + " |")
        lines.append("")
    return lines[:-1]


def _table_text(text: str) -> str:
    return printable(text).replace("|", "\\|")


def _values(note: ColumnNote) -> str:
    if note.labels is not None:
        if len(note.labels) <= FEW:
            return ", ".join(_code(label) for label in note.labels)
        return f"{len(note.labels):,} labels, see `labels.csv`"
    if note.low is None:
        return ""
    low, high = (f"{end:.6g}" if isinstance(end, float) else str(end) for end in (note.low, note.high))
    return f"{low} to {high}" if low != high else low


def _complete(sent: Sent) -> list[str]:
    return [
        "`reissue verify .` compares every file with `export.json`, and that with the record of the release. Without "
        "Reissue: `export.json` has the SHA-256 of every file. The chains, which stand for every public byte of the "
        "series up to a release:",
        "",
        *(f"- release {release.number}: `{release.own.chain}`" for release in sent.releases),
    ]


def _citing(sent: Sent) -> list[str]:
    who = f"{_plain(sent.about.publisher)}. " if sent.about.publisher else ""
    last = sent.releases[-1]
    lines = []
    title = f"*{_plain(title_of(sent.releases, sent.about))}*"
    for release in sent.releases:
        period = f", {_plain(release.period)}" if release.period else ""
        lines.append(
            f"> {who}{title}. Release {release.number}{period}, {release.time:%Y-%m-%d}. Record "
            f"{release.own.chain[:16]}."
        )
    several = ["", "Name the releases that you used."] if last is not sent.releases[0] else []
    return [*"\n>\n".join(lines).split("\n"), *several]


def spreadsheet_formulas(cells: Mapping[str, Iterable[Any]]) -> list[str]:
    """The columns with texts that a spreadsheet could take for formulas."""
    return [
        name
        for name, texts in cells.items()
        if any(str(text).startswith(("=", "+", "-", "@", "\t", "\r")) for text in texts)
    ]
