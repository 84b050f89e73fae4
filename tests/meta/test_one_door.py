"""One file each: a method, a guarantee and an attack of another package work everywhere as soon as they are installed.

Everything about them is declared in their own file, and nothing here names them but their entry points and the policy.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import own_environment
import polars as pl
import pytest
from own_environment import Environment

METHOD = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.methods import Method, Promise, Takes
from reissue.model.grouping import Grouping


@dataclass(frozen=True)
class InThrees(Method):
    """Three at a time, by the first quasi-identifier."""

    size: int = 3

    name: ClassVar[str] = "InThrees"
    words: ClassVar[str] = "takes people three at a time"
    protects_series: ClassVar[bool] = False
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True)

    @property
    def parameters(self):
        return {"size": self.size}

    def promises(self, schema):
        return (Promise("company", {"others": self.size - 1}),)

    def group(self, snapshot, delta, memory, rng):
        people = len(snapshot)
        order = np.lexsort((rng.random(people), snapshot.quasi[0].codes))
        group = np.empty(people, dtype=np.int32)
        group[order] = np.minimum(np.arange(people) // self.size, people // self.size - 1)
        return Grouping(group, people // self.size), {}
'''

GUARANTEE = '''
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from reissue.guarantees import Bounds, GroupGuarantee, Measure
from reissue.model.rules import Rows


@dataclass(frozen=True)
class Company(GroupGuarantee):
    """Nobody is published without so many others."""

    name: ClassVar[str] = "company"
    words: ClassVar[str] = "nobody is published without company"

    others: int

    @property
    def rules(self):
        return (Rows(self.others + 1),)

    @property
    def bounds(self):
        return Bounds(value=Fraction(1, 1))

    def measure(self, published, release):
        sizes = release.sizes
        return Measure(sizes.astype(np.float64), sizes > self.others, lambda group: f"has {sizes[group]} members")

    def remedy(self, published):
        return "more people would do"
'''

ATTACK = """
from dataclasses import dataclass
from typing import ClassVar

from reissue.attacks import Attack, Findings, Judgement


class Peeked(Findings):
    attack = "Peek"
    searched = ("the first group",)
    undecided = ()
    witnesses = ()

    def __init__(self, published, seconds):
        self.published = published
        self.seconds = seconds

    def judge(self, limits, *, most=100):
        return Judgement("within", f"Peeked for at most {self.seconds:.0f} seconds and saw nothing.")


@dataclass(frozen=True)
class Peek(Attack):
    name: ClassVar[str] = "Peek"
    words: ClassVar[str] = "Peeks through the keyhole."
    judges: ClassVar[tuple[str, ...]] = ("probability",)

    seconds: float = 1.0

    def run(self, published, knowledge=None):
        return Peeked(published, self.seconds)
"""

ENTRY_POINTS = """
[reissue.methods]
InThrees = toy_method:InThrees
[reissue.guarantees]
company = toy_guarantee:Company
[reissue.attacks]
Peek = toy_attack:Peek
"""

POLICY = """
[schema]
person = "patient"
[schema.quasi.age]
kind = "numeric"
[schema.sensitive.diagnosis]
kind = "categorical"

[method]
{method}

[gate]
attacks = {attacks}
limit = 1.0
seconds = 7
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment in which the three files are installed."""
    environment = own_environment.make(tmp_path_factory.mktemp("environment"))
    environment.install("toys", {"toy_method": METHOD, "toy_guarantee": GUARANTEE, "toy_attack": ATTACK}, ENTRY_POINTS)
    return environment


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = range(30)
    table = {"patient": [f"p{n}" for n in rows], "age": [20 + n for n in rows], "diagnosis": ["flu", "cold"] * 15}
    path = tmp_path_factory.mktemp("table") / "patients.csv"
    pl.DataFrame(table).write_csv(path)
    return path


def reissue(environment: Environment, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return environment.run("-c", "from reissue.cli import main; main()", *arguments, cwd=cwd)


def policy(folder: Path, method: str, attacks: list[str]) -> Path:
    path = folder / "policy.toml"
    path.write_text(POLICY.format(method=method, attacks=json.dumps(attacks)))
    return path


def test_policy_gate_report_and_command_line_know_them(installed: Environment, patients: Path, tmp_path: Path) -> None:
    rules = policy(tmp_path, 'name = "InThrees"\nsize = 3', ["Worlds", "Peek"])
    done = reissue(installed, "publish", "clinic", patients, "--policy", rules, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "kept company (others = 2)" in done.stdout
    assert "Peek (within): Peeked for at most 7 seconds and saw nothing." in done.stdout
    done = reissue(installed, "audit", "clinic", "--attacks", "Worlds,Peek", "--html", "report.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "Peeks through the keyhole." in page
    assert "company (others = 2): nobody is published without company" in page
    record = json.loads((tmp_path / "clinic" / "public" / "0001" / "release.json").read_text())
    assert record["method"]["name"] == "InThrees"


def test_what_proves_nothing_opens_no_gate(installed: Environment, patients: Path, tmp_path: Path) -> None:
    rules = policy(tmp_path, 'name = "InThrees"', ["Peek"])
    done = reissue(installed, "publish", "clinic", patients, "--policy", rules, cwd=tmp_path)
    assert done.returncode != 0
    assert "the gate needs the attack 'Worlds' to prove what InThrees promises" in done.stderr
    assert not (tmp_path / "clinic").exists()


def test_it_enters_nobodys_audit_by_itself(installed: Environment, patients: Path, tmp_path: Path) -> None:
    rules = policy(tmp_path, 'name = "InThrees"', ["Worlds"])
    reissue(installed, "publish", "clinic", patients, "--policy", rules, cwd=tmp_path)
    done = reissue(installed, "audit", "clinic", "--json", cwd=tmp_path)
    assert "Peek" not in done.stdout
    assert '"Worlds"' in done.stdout


def test_mondrian_enforces_what_a_guarantee_asks_of_groups(
    installed: Environment, patients: Path, tmp_path: Path
) -> None:
    method = 'name = "Mondrian"\n[[method.constraints]]\nname = "company"\nothers = 4'
    rules = policy(tmp_path, method, ["Worlds"])
    done = reissue(installed, "publish", "clinic", patients, "--policy", rules, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "kept company (others = 4)" in done.stdout
    table = pl.read_parquet(tmp_path / "clinic" / "public" / "0001" / "table.parquet")
    assert table.group_by("group").len()["len"].min() >= 5
    assert table["group"].n_unique() > 1
