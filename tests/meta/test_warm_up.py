"""`reissue warm-up` compiles everything there is; what people do afterwards compiles nothing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import ParameterError
from reissue.kernels import keeping
from reissue.methods import METHODS
from reissue.publishing.warming import Small, small_series, warm_up

SOURCE = Path(ri.__file__).parent

OTHER_PEOPLE = """
import json, sys
from pathlib import Path
import reissue as ri
from reissue.cli import main
from reissue.kernels.compiling import COMPILATION
from reissue.samples.hospital import hospital

folder = Path(sys.argv[1])
schema = ri.Schema("patient", {"age": ri.Numeric(), "zip": ri.Numeric(), "sex": ri.Categorical()}, "diagnosis")
methods = ri.Mondrian(k=3), ri.MInvariance(m=3), ri.EEquivalence(m=3, e=2), ri.CorSplit(m=3, n=2)
for number, method in enumerate(methods):
    form = "anatomised" if method.name == "EEquivalence" else "generalised"
    several = "protected" if method.protects_series else "unprotected"
    with ri.open(folder / str(number), ri.Policy(schema, method, form=form, series=several)) as series:
        for table in hospital(2, patients=120):
            series.publish(table)
        series.utility(2, workload=ri.Workload(2, 0.1, 20, seed=1))
sys.argv = ["reissue", "demo", str(folder / "demo"), "--json"]
try:
    main()
except SystemExit as end:
    assert not end.code
sys.stderr.write(json.dumps(COMPILATION.count))
"""


def kernels() -> set[str]:
    """The names of all kernels of the library, as the files say."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        module = ".".join(("reissue", *path.relative_to(SOURCE).with_suffix("").parts))
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                marks = [mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)]
                found |= {f"{module}.{node.name}"} if {"kernel", "inner"} & {*marks} else set()
    return found


@pytest.fixture(scope="module")
def warm() -> dict[str, object]:
    ran = subprocess.run(
        [sys.executable, "-c", "from reissue.cli import main; main()", "warm-up", "--json"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return dict(json.loads(ran.stdout))


def test_every_kernel_is_compiled_by_it(warm: dict[str, object]) -> None:
    kept = {file.name.rsplit("-", 2)[0] for file in Path(str(warm["folder"])).glob(f"*{keeping.SUFFIX}")}
    assert kernels() - kept == set(), "nothing that warms up calls these: add a small series that does"
    assert isinstance(warm["bytes"], int) and warm["bytes"] > 1_000_000


def test_what_people_do_afterwards_compiles_nothing(warm: dict[str, object], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", OTHER_PEOPLE, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert json.loads(ran.stderr) == {}, "nothing is compiled, and nothing is said"


def test_every_method_has_small_series() -> None:
    assert {one.method for one in small_series()} == {*METHODS}


def test_only_what_a_method_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    told: list[tuple[str, int, int]] = []
    monkeypatch.setattr(Small, "run", lambda small: ran.append(small.method))
    warm_up(["EEquivalence", "Mask"], lambda what, done, total: told.append((what, done, total)))
    assert ran == ["EEquivalence", "Mask"]
    assert told == [("EEquivalence, anatomised", 0, 2), ("Mask, generalised", 1, 2)]
    with pytest.raises(ParameterError, match="no method called 'Mondrain'; near it: 'Mondrian'"):
        warm_up(["Mondrain"])
