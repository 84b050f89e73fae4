"""The demo on one page, and as the picture that stands in the README: files that work by themselves."""

from __future__ import annotations

import re
from pathlib import Path

from reissue import __version__
from reissue.demonstrating import demo_pictures as pictures
from reissue.demonstrating.demo_run import Demo, K, L, M, Way
from reissue.pages.rendering import TEMPLATES as SHARED
from reissue.pages.rendering import render

TEMPLATES = Path(__file__).parent / "templates"
FILES = "january.csv february.csv march.csv"
"""What stands for somebody's own tables."""


def demo_page(demo: Demo) -> str:
    """The whole story as HTML."""
    patient = demo.patient
    shown = [
        {
            "way": way,
            "called": pictures.CALLED[way.method],
            "about": pictures.in_short(way),
            "patient": patient and pictures.patient_picture(patient, way, patient.ways[number]),
            "exposure": pictures.exposure_picture(way),
            "gradient": pictures.gradient_picture(demo, way),
            "difference": _points(way.shares[-1].estimate - way.shares[0].estimate),
        }
        for number, way in enumerate(demo.ways)
    ]
    return render(
        TEMPLATES,
        "demo.html",
        demo=demo,
        shown=shown,
        unprotected=demo.ways[0],
        protected=[way for way in demo.ways if way.protects_series],
        fewest=0 if patient is None else min(len(stop.diagnoses) for stop in patient.ways[0]),
        alone=patient is not None and all(stop.fitting == 1 for stop in patient.ways[0]),
        difference=_points(demo.truth[-1] - demo.truth[0]),
        costs=[_cost(way) for way in demo.ways],
        how_published=[(called, *how) for called, _, _, *how in map(_cost, demo.ways)],
        m=M,
        k=K,
        l=L,
        files=FILES,
        keys=pictures.KEYS,
        version=__version__,
    )


def _points(difference: float) -> str:
    """A difference of shares in percentage points."""
    return f"{100 * difference:.1f}".replace("-", "−")


def _cost(way: Way) -> tuple[str, int, int, str, str]:
    """A row of the table of costs."""
    ages = f"as ranges, {way.age_span:.1f} years from end to end on average" if way.age_span else "as they are"
    diagnoses = {
        "Mondrian": f"in groups of {K} rows or more, with {L} diagnoses or more",
        "MInvariance": f"in groups of {M} rows or more, none twice",
        "Alternatives": f"as {M} diagnoses, one of them true",
    }[way.method]
    return pictures.CALLED[way.method], way.withheld, way.counterfeits, ages, diagnoses


def demo_picture(demo: Demo) -> str:
    """The patient and who is exposed, as an SVG file."""
    return render(TEMPLATES, "demo.svg", drawn=pictures.readme_picture(demo), style=_of_pictures())


def _of_pictures() -> str:
    """Those rules of the pages' style that a picture by itself needs: its colours, and how its shapes look."""
    sheet = (SHARED / "style.css").read_text(encoding="utf-8").split("@media")[0]
    rules = re.findall(r"([^{}]+)({[^{}]*})", re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL))
    kept = (f"{chosen.strip()} {rule}" for chosen, rule in rules if chosen.strip().startswith((":root", ".picture")))
    return "\n".join(kept)
