"""What follows from the series in series-0.1/, recorded: their audits and the tables of their third releases.

`recorded_series.json` has for each series the hashes of what was published first and second, what an audit of these
says, the hashes of a third release and, of protected series, what an audit says then. It is written by

    python tests/compatibility/recorded_series.py --write

when something is meant to become different, which the CHANGELOG then says. Tests only read.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from make_series import FOLDER, KEY, STORED, what_comes_next
from simple_people import canonical_hash, hashes

import reissue as ri

RECORDED = Path(__file__).with_name("recorded_series.json")
LONG = 120.0
"""Seconds for each attack: far more than any of them takes, so that none stops early."""


def copied(name: str, home: Path) -> Path:
    """A copy of a stored series in a folder that counts as the home folder, with modes that git does not keep."""
    shutil.copyfile(FOLDER / KEY, home / KEY)
    (home / KEY).chmod(0o600)
    series = Path(shutil.copytree(FOLDER / name, home / name))
    for folder in (series / "private", series / "private" / "blobs"):
        folder.chmod(0o700)
    return series


def third(series: ri.Series, name: str) -> ri.Release:
    """Publish the third release, with a fixed seed."""
    override: Any = {"override": "Agreed at a meeting in March"} if name == "overridden" else {}
    # Releases that were adopted are of the day on which that was done.
    time = max(datetime(2024, 3, 1, 12, tzinfo=UTC), series.releases[-1].time)
    return series.publish(
        **what_comes_next(name),
        seed=3,
        time=time,
        **override,
        allow=["counterfeit", "ids-return", "replaced", "withheld"],
        reason="so it is here",
    )


def audited(series: ri.Series, name: str) -> dict[str, list[Any]]:
    """What each attack says: its judgement and how much it found."""
    report = series.audit(seconds=LONG, limit=STORED[name].limit)
    return {attack: [one.status, one.count] for attack, one in sorted(report.judgements.items())}


def private(series: ri.Series, number: int) -> dict[str, str]:
    """Hashes of what is private about a release."""
    return {
        "members": canonical_hash(series.private.members(number)),
        "held back": canonical_hash(series.private.held_back(number)),
    }


def computed(name: str, home: Path) -> dict[str, Any]:
    """What follows from a stored series, of which a copy is made."""
    with ri.open(copied(name, home)) as series:
        found: dict[str, Any] = {
            "stored": [hashes(release.tables) | private(series, release.number) for release in series.releases],
            "audit": audited(series, name),
        }
        release = third(series, name)
        found |= {"third": hashes(release.tables), "third private": private(series, 3)}
        if STORED[name].policy.series == "protected":  # the others are betrayed by two releases already
            found["audit with the third"] = audited(series, name)
    return found


def recorded() -> dict[str, dict[str, Any]]:
    """What was recorded."""
    found: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def write(target: Path) -> None:
    """Record what all series give now."""
    found = {}
    for name in STORED:
        with TemporaryDirectory() as home:
            os.environ["HOME"] = home
            found[name] = computed(name, Path(home))
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"] or len(sys.argv) > 3:
        sys.exit("usage: recorded_series.py --write [file]")
    write(Path(sys.argv[2]) if len(sys.argv) == 3 else RECORDED)
