"""Half of a surrogate pair can be written nowhere: it is refused, with a message, before anything is made."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import reissue as ri
from reissue.errors import ReissueError
from reissue.publishing.series import draft
from reissue.tables.identities import make_key, plain_id

HALF = "x\ud800y"
ROWS = range(24)
TABLE = pl.DataFrame(
    {
        "patient": [f"p{n}" for n in ROWS],
        "age": [20 + n for n in ROWS],
        "sex": ["f", "m"] * 12,
        "diagnosis": ["flu", "cold", "hiv"] * 8,
    }
)


def schema(**changes: object) -> ri.Schema:
    usual = {
        "person": "patient",
        "quasi": {"age": ri.Numeric(), "sex": ri.Categorical()},
        "sensitive": "diagnosis",
    }
    return ri.Schema(**{**usual, **changes})  # type: ignore[arg-type]


def policy(k: int = 3, **changes: object) -> ri.Policy:
    return ri.Policy(schema(), ri.Mondrian(k=k), **{"series": "unprotected", **changes})  # type: ignore[arg-type]


def with_labels(*labels: str) -> ri.Policy:
    return ri.Policy(
        schema(quasi={"age": ri.Numeric(), "sex": ri.Categorical(values=("f", "m", *labels))}), ri.Mondrian(k=3)
    )


def one_cell() -> pd.DataFrame:
    return TABLE.to_pandas().assign(sex=pd.Series([HALF, *["f"] * 23], dtype=object))


def one_column() -> pd.DataFrame:
    return TABLE.to_pandas().set_axis(pd.Index(["patient", "age", HALF, "diagnosis"], dtype=object), axis=1)


def json_hierarchy(folder: Path) -> Path:
    (folder / "half.json").write_text('{"any": ["\\ud800", "b"]}')
    return folder / "half.json"


GATE = ri.Gate(limit="1/2", accept=["undecided"])
WAYS: dict[str, Callable[[Path], object]] = {
    "a person column": lambda d: schema(person=HALF),
    "a column": lambda d: schema(quasi={HALF: ri.Numeric()}),
    "a column to drop": lambda d: schema(drop=[HALF]),
    "a label": lambda d: ri.publish(d / "new", TABLE, with_labels(HALF)),
    "a permanent value": lambda d: ri.publish(
        d / "new", TABLE, ri.Policy(schema(permanent=[HALF]), ri.HDComposition(2))
    ),
    "a protected value": lambda d: ri.publish(
        d / "new", TABLE, ri.Policy(schema(protect=[[HALF]]), ri.AlphaK("1/2", 2))
    ),
    "a hierarchy": lambda d: ri.Hierarchy.from_nested({"any": [HALF, "b"]}),
    "a hierarchy of rows": lambda d: ri.Hierarchy.from_rows([[HALF, "any"], ["b", "any"]]),
    "a hierarchy in JSON": lambda d: ri.Hierarchy.read(json_hierarchy(d)),
    "a policy's text": lambda d: ri.Policy.from_toml(policy().to_toml().replace("patient", HALF)),
    "a cell": lambda d: draft(one_cell(), policy()),
    "a column of a table": lambda d: draft(one_column(), policy()),
    "a folder": lambda d: ri.publish(d / HALF, TABLE, policy()),
    "a folder of bytes": lambda d: ri.publish(d / os.fsdecode(b"\xff"), TABLE, policy()),
    "a folder to open": lambda d: ri.open(d / HALF, policy()),
    "a folder to adopt in": lambda d: ri.adopt(
        d / HALF, ri.Policy(schema(), ri.MInvariance(m=2)), [TABLE.select("patient", "diagnosis", group=pl.lit(1))]
    ),
    "a table's file": lambda d: draft(d / f"{HALF}.csv", policy()),
    "a policy's file": lambda d: ri.Policy.read(d / HALF),
    "a hierarchy's file": lambda d: ri.Hierarchy.read(d / f"{HALF}.csv"),
    "a key's file": lambda d: policy(people=ri.Ids("hashed", key_file=str(d / HALF))),
    "an anchor's file": lambda d: policy(anchor=str(d / HALF)),
    "a new key's file": lambda d: make_key(d / HALF),
    "a reason to amend": lambda d: ri.open(d / "old").amend(policy(4), HALF),
    "a reason to override": lambda d: ri.publish(d / "new", TABLE, policy(gate=GATE), override=HALF),
    "an id to forget": lambda d: ri.open(d / "old").forget(HALF),
    "an id": lambda d: plain_id(HALF),
    "an id of the dead": lambda d: ri.publish(
        d / "new", TABLE, ri.Policy(schema(permanent=["hiv"]), ri.HDComposition(2)), extinct=[HALF]
    ),
    "a report's file": lambda d: ri.publish(d / "new", TABLE, policy(gate=GATE), report=d / HALF),
    "an audit's file": lambda d: ri.open(d / "old").audit(limit="1/2").to_html(d / HALF),
    "a release's file": lambda d: ri.read_releases([d / f"{HALF}.csv"], sensitive="diagnosis"),
    "releases' folder": lambda d: ri.read_releases(d / HALF, sensitive="diagnosis"),
    "a sensitive column": lambda d: ri.read_releases([TABLE], sensitive=HALF),
    "an attack": lambda d: ri.open(d / "old").audit(attacks=[HALF], limit="1/2"),
    "a method": lambda d: ri.Policy.from_toml(policy().to_toml().replace("Mondrian", HALF)),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_refused(way: str, tmp_path: Path) -> None:
    if "old" in WAYS[way].__code__.co_consts:
        ri.publish(tmp_path / "old", TABLE, policy())
    json_hierarchy(tmp_path)
    before = sorted(os.listdir(os.fsencode(tmp_path)))  # noqa: PTH208  (as bytes)
    with pytest.raises(ReissueError) as caught:
        WAYS[way](tmp_path)
    str(caught.value).encode()  # the message itself can be written
    assert sorted(os.listdir(os.fsencode(tmp_path))) == before  # noqa: PTH208


def test_pages_show_it_escaped(tmp_path: Path) -> None:
    """A view that somebody made in Python may hold anything."""
    published = ri.Published.from_groups([[(["a", "b"], [HALF, "c"])]])
    page = ri.audit(published, limit=1 / 3).to_html(tmp_path / "page.html", show_values=True)
    assert r"x\ud800y" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments", [[b"log", b"\xff"], [b"publish", b"a", b"\xff.csv"], [b"amend", b"a", b"--reason=\xff"]]
)
@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_line_refuses_bytes_that_are_no_text(tmp_path: Path, arguments: list[bytes], as_json: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from reissue.cli import main; main()", *arguments, *([b"--json"] if as_json else [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 2
    assert "not UTF-8" in (done.stdout if as_json else done.stderr)
    assert r"\udcff" in (done.stdout if as_json else done.stderr)
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
