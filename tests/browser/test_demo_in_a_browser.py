"""The demo's page in a real browser: three widths and paper, nothing loaded, nothing that axe-core complains about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chromium import pages_of

from reissue.demonstrating.demo_page import demo_page
from reissue.demonstrating.demo_run import run_demo

WIDTHS = (360, 768, 1280)


def test_the_demo_in_a_browser(browser: Any, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    written = tmp_path / "demo.html"
    written.write_text(demo_page(run_demo(tmp_path / "hospital", months=4, patients=240)), encoding="utf-8")
    page = browser.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(written.as_uri())
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, f"at {width} pixels it is {wider} too wide"
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert asked == [written.as_uri()]
    assert said == []
    for drawn in page.query_selector_all("figure.picture svg"):
        assert drawn.query_selector("title").text_content().strip()
        assert drawn.query_selector("desc").text_content().strip()
        assert drawn.query_selector_all("polyline, rect, circle"), "an empty picture"
    page.pdf(path=tmp_path / "demo.pdf", prefer_css_page_size=True)
    assert pages_of(tmp_path / "demo.pdf") <= 3
    page.emulate_media(media="print")
    colours = page.evaluate(
        "[...document.querySelectorAll('.statement, .key, .picture rect, .picture text, .picture polyline')].flatMap("
        "one => { const style = getComputedStyle(one);"
        " return [style.color, style.fill, style.stroke, style.backgroundColor, style.borderLeftColor] })"
    )
    parts = [colour[colour.index("(") + 1 : -1].split(",")[:3] for colour in colours if "(" in colour]
    assert parts and all(len({part.strip() for part in one}) == 1 for one in parts), "paper is grey"
    page.close()
