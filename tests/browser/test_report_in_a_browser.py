"""Reports opened in a real browser: three widths and paper, nothing loaded, nothing that axe-core complains about."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chromium import pages_of

import reissue as ri
from reissue.auditing.report import AuditReport
from reissue.auditing.subject import Subject
from reissue.model.assumptions import ASSUMPTIONS, Assumption

WIDTHS = (360, 768, 1280)
SHEET = 273.0
"""The height of a sheet of A4 between its margins, in millimetres."""
HOSTILE = ("<script>alert(1)</script>", "\x1b[31mred\u202eevil", "ü" * 300)


def leaking() -> AuditReport:
    """Twelve people over three releases, of whom some can be read off, with everything that a sheet can hold."""
    people = [f"p{number}" for number in range(12)]
    values = ["flu", "asthma", "gout", "cancer", "HIV", "angina"]
    releases = [
        [(people[at : at + 3], [values[(at + place + shift) % 6] for place in range(3)]) for at in (0, 3, 6, 9)]
        for shift in (0, 0)
    ]
    releases.append([(["p0", "new"], ["flu", "measles"]), (people[1:6], ["asthma", "gout", "cancer", "HIV", "angina"])])
    report = ri.audit(ri.Published.from_groups(releases), limit=1 / 2)
    names = {number: f"2020-0{number}.csv" for number in (1, 2, 3)}
    statuses = ("refuted", "holds", "dropped", "said", "said", "untested", "untested", "holds", "said", "said")
    assumptions = tuple(
        Assumption(name, status, 64 if status == "refuted" else 0, "64 cells cannot be explained without it.")
        for name, status in zip(ASSUMPTIONS, statuses, strict=True)
    )
    subject = Subject("clinic", ("age", "sex", "region"), ("diagnosis",), names, names)
    return replace(report, subject=subject, assumptions=assumptions)


def nothing_found() -> AuditReport:
    view = ri.Published.from_groups([[(["a", "b"], ["x", "y"]), (["c", "d"], ["x", "y"])]])
    return ri.audit(view, limit=1 / 2)


def hostile() -> AuditReport:
    tag, steering, long = HOSTILE
    view = ri.Published.from_groups(
        [
            [([tag, "b", "c"], [tag, steering, long]), (["d", "e"], ["x", tag])],
            [([tag, "d"], [tag, "y"]), (["b", "c", "e"], [steering, long, "x"])],
        ]
    )
    subject = Subject(tag, (steering, long), (tag,), {1: steering, 2: long}, {1: long, 2: tag})
    return replace(ri.audit(view, limit=1 / 2), subject=subject)


def contradicted() -> AuditReport:
    """Somebody's value changed, and nobody said so: what single releases show is told under a condition."""
    first = [(list("abc"), ["flu"] * 3), (list("defgh"), ["gout", "flu", "gout", "HIV", "flu"])]
    second = [(list("abc"), ["gout"] * 3), (list("defgh"), ["gout", "flu", "gout", "HIV", "flu"])]
    report = ri.audit(ri.Published.from_groups([first, second]), limit=1 / 2)
    assert report.contradicted and report.leading and all(one.kind == "conditional" for one in report.leading)
    return report


def files_of(folder: Path, releases: int, rows: int = 60) -> list[Path]:
    """A list that grows, in which nobody is known by name; two sensitive columns."""
    paths = []
    for number in range(releases):
        outcomes, hospital = ("resolved", "fatal", "open"), ("no", "yes", "yes", "yes", "yes")
        lines = [
            f"{20 + at % 37},{'FM'[at % 2]},{outcomes[(at * 7 + at // 11) % 3]},{hospital[at % 5]}"
            for at in range(number, rows + 3 * number)
        ]
        paths.append(folder / f"2020-04-{number + 1:02}.csv")
        paths[-1].write_text("\n".join(["age,sex,outcome,hospital", *lines]) + "\n", encoding="utf-8")
    return paths


def nameless(sensitive: list[str], releases: int) -> AuditReport:
    with tempfile.TemporaryDirectory() as folder:
        read = ri.read_releases(files_of(Path(folder), releases), sensitive=sensitive, quasi=["age", "sex"])
    names = {number: f"2020-04-{number:02}.csv" for number in range(1, releases + 1)}
    subject = Subject("cases", ("age", "sex"), tuple(sensitive), names, names)
    return replace(ri.audit(read.published, limit=1 / 2), subject=subject)


REPORTS = {
    "leaking": leaking,
    "nothing": nothing_found,
    "hostile": hostile,
    "contradicted": contradicted,
    "nameless": lambda: nameless(["outcome"], 12),
    "several": lambda: nameless(["outcome", "hospital"], 3),
}


@pytest.fixture(scope="module", params=list(REPORTS))
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / f"{request.param}.html"
    return REPORTS[request.param]().to_html(path, show_people=True, show_values=True)


def test_reports_in_a_browser(browser: Any, written: Path, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(written.as_uri())
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, f"at {width} pixels it is {wider} too wide"
    # With everything opened, so that nothing hides from it.
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert asked == [written.as_uri()]
    assert said == []
    assert page.evaluate("document.scripts.length") == 0
    for drawn in page.query_selector_all("figure.picture svg"):
        assert drawn.query_selector("title").text_content().strip()
        assert drawn.query_selector("desc").text_content().strip()
        assert drawn.query_selector_all("polyline, rect, circle"), "an empty picture"
    page.close()


def test_the_first_sheet_is_one_page(browser: Any, written: Path, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 688, "height": 1032})  # 182 by 273 millimetres
    page.goto(written.as_uri())
    page.emulate_media(media="print")
    height = page.evaluate("document.querySelector('.sheet').getBoundingClientRect().height / 96 * 25.4")
    assert height <= SHEET
    assert page.evaluate("document.documentElement.scrollWidth") <= 688, "something is wider than the sheet"
    inside = page.evaluate(
        "!!document.querySelector('.sheet .statement') && !!document.querySelector('.sheet .signatures')"
    )
    assert inside
    # Grey: what is drawn has as much red as green and blue.
    colours = page.evaluate(
        "[...document.querySelectorAll('.badge, .statement, .picture rect, .picture text')].flatMap(one => {"
        "const style = getComputedStyle(one); return [style.color, style.fill, style.borderLeftColor]})"
    )
    parts = [colour[colour.index("(") + 1 : -1].split(",")[:3] for colour in colours if "(" in colour]
    assert parts and all(len({part.strip() for part in one}) == 1 for one in parts)
    # Words of a line's heading stay whole where they have room, and numbers of lists are not cut.
    heads = page.evaluate(
        "[...document.querySelectorAll('tbody th:not(.right)')].filter(one => one.textContent.trim().length < 12)"
        ".map(one => one.getClientRects().length && one.firstChild && (() => { const range = document.createRange();"
        " range.selectNodeContents(one); return range.getClientRects().length })())"
    )
    assert all(rows <= 1 for rows in heads)
    lists = page.evaluate(
        "[...document.querySelectorAll('ol')].map(one => parseFloat(getComputedStyle(one).paddingLeft) "
        "/ parseFloat(getComputedStyle(one).fontSize))"
    )
    assert all(room >= 1.9 for room in lists)
    page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    assert pages_of(tmp_path / "report.pdf") <= 6
    page.close()


def test_what_is_in_doubt_is_never_drawn_as_certain(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(contradicted().to_html(tmp_path / "contradicted.html").as_uri())
    assert page.query_selector_all(".card .picture .outcome.doubted")
    assert not page.query_selector_all(".card.bad, .chip.left, .chip.out, .outcome:not(.doubted)")
    assert all("ertain" not in one.text_content() for one in page.query_selector_all(".card"))
    # What is contradicted is read first.
    assert "contradicted" in page.query_selector(".rests li").text_content()
    assert page.query_selector(".statement .said").text_content().startswith("Values did not stay the same")
    page.close()


def test_groups_where_nobody_is_known_point_to_lines(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(nameless(["outcome"], 12).to_html(tmp_path / "nameless.html").as_uri())
    cards = page.query_selector_all(".sheet .card")
    assert cards and all("2020-04-" in one.text_content() and " line" in one.text_content() for one in cards)
    assert page.query_selector("#steps-title") is not None
    heads = [one.text_content() for one in page.query_selector_all("details th[scope=col]")]
    assert {"came", "gone", "changed", "newcomers isolated"} <= {*heads}
    # The sentence and the criterion count the same rows.
    said = page.query_selector(".statement").text_content()
    single = re.search(r"counted in each, ([0-9,]+) tell the outcome", said)
    assert single is not None
    assert f"{single[1]} with one value only" in page.query_selector("#criteria + .rows").text_content()
    page.close()
