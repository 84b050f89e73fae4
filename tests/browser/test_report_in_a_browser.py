"""Reports opened in a real browser: three widths and paper, nothing loaded, nothing that axe-core complains about."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reissue as ri
from reissue.auditing.report import AuditReport
from reissue.auditing.subject import Subject
from reissue.model.assumptions import ASSUMPTIONS, Assumption

sys.path.insert(0, str(Path(__file__).parent))
from chromium import NOT_HERE, executable, pages_of

WIDTHS = (360, 768, 1280)
SHEET = 273.0
"""The height of a sheet of A4 between its margins, in millimetres."""
HOSTILE = ("<script>alert(1)</script>", "\x1b[31mred\u202eevil", "ü" * 300)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = executable()
    if found is None:
        pytest.skip(NOT_HERE)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


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
    statuses = ("refuted", "holds", "dropped", "said", "untested", "untested", "holds")
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


REPORTS = {"leaking": leaking, "nothing": nothing_found, "hostile": hostile}


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
    page.close()


def test_the_first_sheet_is_one_page(browser: Any, written: Path, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 688, "height": 1032})  # 182 by 273 millimetres
    page.goto(written.as_uri())
    page.emulate_media(media="print")
    height = page.evaluate("document.querySelector('.sheet').getBoundingClientRect().height / 96 * 25.4")
    assert height <= SHEET
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
    page.emulate_media(media="screen")
    page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    assert pages_of(tmp_path / "report.pdf") <= 6
    page.close()


def test_the_plots_name_what_they_show(browser: Any, written: Path) -> None:
    page = browser.new_page()
    page.goto(written.as_uri())
    for drawn in page.query_selector_all("figure.picture svg"):
        assert drawn.query_selector("title").text_content().strip()
        assert drawn.query_selector("desc").text_content().strip()
        assert drawn.query_selector_all("polyline, rect, circle"), "an empty picture"
    page.close()
