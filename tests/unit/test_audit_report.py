"""The report as a person gets it: words, JSON and one page; nothing private in it unless asked for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from reissue.attacks.base import POSTERIORS, Attack, Finding, Findings, Judgement, Limits
from reissue.attacks.sentences import Person, Place, Value, Witness
from reissue.auditing.report import AuditReport
from reissue.auditing.running import audit
from reissue.errors import ParameterError, StorageError
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published

PEOPLE = [f"NAME<{n}>&CANARY" for n in range(6)]
VALUES = ["VALUE<x>&CANARY", "VALUE<y>&CANARY"]


def view() -> Published:
    first, second, third = PEOPLE[:2], PEOPLE[2:4], PEOPLE[4:]
    return Published.from_groups([[(first, VALUES), (second, VALUES)], [(first, VALUES), (third, VALUES)]])


class Told(Findings):
    """Findings made up for the report."""

    attack: ClassVar[str] = "Worlds"
    searched = ("every <pair> of groups",)
    undecided = ("one <part> too large",)

    def __init__(self, published: Published) -> None:
        self.published = published

    @property
    def posteriors(self) -> pl.DataFrame:
        chances = [(1.0, "exact"), (0.5, "exact"), (0.75, "bounded"), (0.6, "sampled"), (0.5, "exact"), (0.2, "exact")]
        rows = [
            {
                "person": number if self.published.people is None else PEOPLE[number],
                "value": VALUES[0],
                "probability": chance,
                "kind": kind,
                "low": {"exact": chance, "bounded": 0.25}.get(kind),
                "high": {"exact": chance, "bounded": 0.75}.get(kind),
            }
            for number, (chance, kind) in enumerate(chances)
        ]
        person = pl.Int64 if self.published.people is None else pl.String
        return pl.DataFrame(rows, schema={**POSTERIORS, "person": person})

    @property
    def certain(self) -> dict[str | int, object]:
        return {0 if self.published.people is None else PEOPLE[0]: VALUES[0]}

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        return ()

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        def finding(person: int, probability: float | None) -> Finding:
            sentence = (Person(person), " has ", Value(0), " and not ", Value(1), ": ", Place(2, 1), ".")
            return Finding("Worlds", "value", (person,), 2, 0, probability, "exact", Witness((sentence,)))

        found = (finding(2, None), finding(1, 0.6), finding(0, 1.0))
        return Judgement("beyond", "3 people are <beyond>.", found[:most], 3)


@dataclass(frozen=True)
class Tells(Attack):
    words: ClassVar[str] = "Says what it is told."
    name: ClassVar[str] = "Worlds"

    def run(self, published: Published, knowledge: Knowledge | None = None) -> Findings:
        return Told(published)


@dataclass(frozen=True)
class Cannot(Attack):
    words: ClassVar[str] = "Says what it is told."
    judges: ClassVar[tuple[str, ...]] = ("equivalence",)
    name: ClassVar[str] = "Equivalence"

    def run(self, published: Published, knowledge: Knowledge | None = None) -> Findings:
        raise ParameterError("The members are <not> known.")


@pytest.fixture(scope="module")
def report() -> AuditReport:
    return audit(view(), limit=1 / 2, attacks=[Tells(), Cannot()])


@pytest.fixture(scope="module")
def page(report: AuditReport, tmp_path_factory: pytest.TempPathFactory) -> str:
    return report.to_html(tmp_path_factory.mktemp("page") / "report.html").read_text()


def test_the_worst_comes_first(report: AuditReport) -> None:
    assert [finding.person for finding in report.findings] == [0, 1, 2]
    assert report.table.columns == ["person", "release", "attack", "what", "probability", "kind", "witness", "truth"]
    assert report.table["person"].to_list() == PEOPLE[:3]
    assert report.table["probability"].to_list() == [1.0, 0.6, None]
    assert report.table["witness"][0] == f"{PEOPLE[0]} has {VALUES[0]} and not {VALUES[1]}: release 2 group 1."


def test_a_view_by_number_hides_values_in_its_table() -> None:
    named = view()
    report = audit(Published(named.releases, named.values), limit=1 / 2, attacks=[Tells()])
    assert report.table["person"].to_list() == [0, 1, 2]
    assert report.table["witness"][0] == "person 0 has value A and not value B: release 2 group 1."
    assert "CANARY" not in report.text()


def test_the_repr_counts(report: AuditReport) -> None:
    expected = "AuditReport(not passed, limit 1/2: Worlds beyond, Equivalence not asked; 3 findings)"
    assert repr(report) == expected


def test_what_the_worlds_leave_by_hand(report: AuditReport) -> None:
    found = report.disclosure
    assert (found.people, found.highest, found.kind, found.certain) == (6, 1.0, "exact", 1)
    # Proven above: the one at 1. Open: the bounded one (up to 0.75) and the sampled one.
    assert (found.above, found.open) == (1, 2)
    assert dict(found.kinds) == {"bounded": 1, "exact": 4, "sampled": 1}
    groups = report.exposed_groups
    assert groups.select("release", "group", "people", "highest", "mean", "above").rows() == [
        (1, 2, 2, 0.75, 0.675, 2),
        (1, 1, 2, 1.0, 0.75, 1),
        (2, 1, 2, 1.0, 0.75, 1),
        (2, 2, 2, 0.5, 0.35, 0),
    ]


def test_text_names_people_of_a_view_built_from_names(report: AuditReport) -> None:
    text = report.text()
    first, second, *_ = text.splitlines()
    # By hand: one is certain; of the others one is estimated to be above 1/2, and nobody is proven to be.
    likely = "1 more can be tied to a value with a probability above 1/2, up to 0.6, by estimate"
    assert first == f"Not passed: 1 of 6 people's value can be read off from releases 1 and 2 together; {likely}."
    assert second.startswith("Not passed: the releases together tell more than the limits allow, as Worlds found.")
    assert PEOPLE[0] in text
    hidden = report.text(show_people=False, show_values=False)
    assert "CANARY" not in hidden
    assert "person 0 with probability 1 (computed exactly), Worlds: person 0 has value A and not value B" in hidden
    assert "person 1" not in report.text(most=1, show_people=False)


def test_nothing_private_in_json_or_page_unless_asked_for(report: AuditReport, page: str, tmp_path: Path) -> None:
    assert "CANARY" not in report.to_json()
    assert "CANARY" not in page
    assert "CANARY" not in repr(report)
    people = report.to_json(tmp_path / "report.json", show_people=True)
    assert (tmp_path / "report.json").read_text() == people
    assert "NAME" in people
    assert "VALUE" not in people
    values = report.to_html(tmp_path / "report.html", show_values=True).read_text()
    assert "VALUE" in values
    assert "NAME" not in values
    assert "This report names values: it is private." in values
    called = report.to_dict(show_people=True, called=lambda number: f"nr. {number}")
    assert called["findings"][0]["person"] == "nr. 0"


def test_json_is_plain_data(report: AuditReport) -> None:
    data = json.loads(report.to_json())
    assert data["passed"] is False
    limits = {"probability": "1/2", "equivalence": None, "diversity": 2, "history_diversity": None, "correlation": None}
    limits["credibility"] = None
    assert data["limits"] == limits
    assert [(one["attack"], one["run"], one["status"]) for one in data["attacks"]] == [
        ("Worlds", True, "beyond"),
        ("Equivalence", False, "not asked"),
    ]
    assert data["findings"][0]["witness"] == "person 0 has value A and not value B: release 2 group 1."
    assert [row["release"] for row in data["risks"]] == [1, 2]
    assert [one["name"] for one in data["criteria"]] == ["singling out", "linkability", "inference"]
    assert data["disclosure"]["above"] == 1


@dataclass(frozen=True)
class Remarks(Attack):
    """An attack that finds something nobody asked about."""

    words: ClassVar[str] = "Says what it is told."
    name: ClassVar[str] = "Equivalence"

    def run(self, published: Published, knowledge: Knowledge | None = None) -> Findings:
        class Remarked(Told):
            @property
            def witnesses(self) -> tuple[Witness, ...]:
                return tuple(Witness(((Person(n), " is like ", Person(n + 1), "."),)) for n in range(5)) * 2

            def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
                return Judgement("not asked", "Nobody asked.")

        return Remarked(published)


def test_what_no_limit_asks_about_is_told_all_the_same(tmp_path: Path) -> None:
    report = audit(view(), limit=1 / 2, attacks=[Remarks()])
    assert report.findings == []
    assert [one["witness"] for one in report.to_dict()["unasked"]] == [
        f"person {n} is like person {n + 1}." for n in range(5)
    ]
    assert "Equivalence: person 0 is like person 1." in report.text(show_people=False)
    assert "Equivalence: person 4 is like person 5." in report.to_html(tmp_path / "report.html").read_text()


@dataclass(frozen=True)
class Nameless(Attack):
    """An attack on groups in which nobody is known."""

    words: ClassVar[str] = "Says what it is told."
    name: ClassVar[str] = "Channels"

    def run(self, published: Published, knowledge: Knowledge | None = None) -> Findings:
        class Found(Told):
            def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
                witness = Witness((("Whoever is in ", Place(1, 2), " has ", Value(0), "."),))
                finding = Finding("Channels", "channel", (), 2, 0, None, "exact", witness)
                return Judgement("beyond", "One group.", (finding,), 1)

        return Found(published)


def test_findings_about_nobody_known(tmp_path: Path) -> None:
    report = audit(view(), limit=1 / 2, attacks=[Nameless()])
    assert report.table["person"].to_list() == [None]
    assert report.to_dict()["findings"][0]["person"] == "somebody in a group"
    told = "somebody in a group: few values left, from release 2 on (Channels)"
    assert told in report.to_html(tmp_path / "report.html").read_text()
    assert "somebody in a group, Channels: Whoever is in release 1 group 2 has value A." in report.text(
        show_values=False
    )


class Tags(HTMLParser):
    """Opens and closes, addresses, and the headings in their order."""

    VOID: ClassVar[set[str]] = {"meta", "img", "br", "link"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.addresses: list[str] = []
        self.headings: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def test_the_page_is_one_file_in_the_order_of_the_standard(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    first = ["What was audited", "The European criteria", "What it rests on", "The worst findings", "Signatures"]
    standard = ["1. Context", "2. Attack modelling", "3. Adversarial testing", "4. Residual risk"]
    assert tags.headings == [*first, *standard]
    assert not tags.seen & {"script", "iframe", "object", "img", "x", "y", "part", "pair", "not", "beyond"}
    # No picture of a tab, and the way past the heading: neither asks anybody for anything.
    assert tags.addresses == ["data:,", "#content"]
    assert "url(" not in page
    assert "default-src 'none'" in page
    assert page.index('class="statement bad"') < page.index("<h2")
    assert "every &lt;pair&gt; of groups" in page
    assert "one &lt;part&gt; too large" in page
    assert "3 people are &lt;beyond&gt;." in page
    assert "The members are &lt;not&gt; known." in page
    for words in ("Singling out", "Linkability", "Inference", "05/2014", "What this does not cover", "Marketer"):
        assert words in page


def test_names_asked_for_are_escaped(report: AuditReport, tmp_path: Path) -> None:
    page = report.to_html(tmp_path / "report.html", show_people=True, show_values=True).read_text()
    assert "NAME&lt;0&gt;&amp;CANARY has VALUE&lt;x&gt;&amp;CANARY" in page
    tags = Tags()
    tags.feed(page)
    assert tags.open == []


def test_the_distribution_counts_everybody_once(report: AuditReport, page: str) -> None:
    # 0.2, 0.5 twice, 0.6, 0.75 and 1: a figure on a boundary belongs to the bar below it.
    drawn = bars(page, "likeliest")
    assert drawn == {"20": "1", "50": "2", "60": "1", "80": "1", "100": "1"}


def bars(page: str, plot: str) -> dict[str, str]:
    """The figures above the bars of a plot, by the name below."""
    svg = page[page.index(f'aria-labelledby="{plot}-title') :]
    svg = svg[: svg.index("</svg>")]
    texts = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="(\w+)"[^>]*>([^<]*)<', svg)
    below = {x: name for x, y, kind, name in texts if kind == "soft" and float(y) > 160}
    return {below[x]: figure for x, _, kind, figure in texts if kind == "figure"}


def test_a_report_without_figures_is_a_page_too(tmp_path: Path) -> None:
    report = audit(view(), limit=1 / 2, attacks=[Cannot()])
    page = report.to_html(tmp_path / "report.html").read_text()
    assert "no probabilities were computed" in page
    assert "likeliest-title" not in page  # no empty plot
    assert not report.passed


def test_a_place_that_cannot_be_written_is_an_error_of_storage(report: AuditReport, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        report.to_html(tmp_path / "nowhere" / "report.html")
