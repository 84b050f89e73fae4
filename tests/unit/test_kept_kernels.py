"""Compiled kernels are kept: never out of date, never spoilt, and never taken from somebody else."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest

import reissue as ri
from reissue.kernels import announcing, keeping
from reissue.kernels.compiling import Compilation

CALLED = """
from reissue.kernels import inner

STEP = 1


@inner
def further(number):
    "Goes one step further."
    return number + STEP
"""
CALLING = """
from reissue.kernels import kernel
from toys.called import further

FACTOR = 10


@kernel
def count(number):
    return further(number) * FACTOR


@kernel
def ordered(numbers):
    numbers.sort()
    return numbers


@kernel
def places(numbers):
    return numbers.argsort()
"""
RUN = """
import json, sys
import numpy as np
from reissue.kernels.compiling import COMPILATION
from toys.calling import count, ordered, places

numbers = np.array([5, 3, 4, 1, 2] * 20)
answers = {"count": lambda: count(1), "fraction": lambda: count(0.5)}
answers["sort"] = lambda: ordered(numbers.copy())[::20].tolist()
answers["argsort"] = lambda: numbers[places(numbers)][::20].tolist()
told = {name: answers[name]() for name in sys.argv[1:]}
print(json.dumps({"told": told, "compiled": sorted(name.split(".")[-1] for name in COMPILATION.count.elements())}))
"""


class Toys:
    """A small package of kernels, one of which calls one of another file, and a folder for what is compiled."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "toys"
        self.kept = folder / "kept"
        self.package.mkdir()
        self.write("called", CALLED)
        self.write("calling", CALLING)

    def write(self, name: str, text: str) -> None:
        (self.package / f"{name}.py").write_text(text)

    def start(self, *asked: str) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(self.package.parent), str(Path(ri.__file__).parents[1])])
        about = {**os.environ, keeping.VARIABLE: str(self.kept), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.Popen([sys.executable, "-c", RUN, *asked], env=about, stdout=subprocess.PIPE, text=True)

    def run(self, *asked: str) -> tuple[dict[str, object], list[str]]:
        """What the kernels answered, and which of them had to be compiled for that."""
        answer = json.loads(self.start(*asked).communicate()[0])
        return answer["told"], answer["compiled"]

    def files(self) -> list[Path]:
        return sorted(self.kept.glob("*/*"))


@pytest.fixture
def toys(tmp_path: Path) -> Toys:
    return Toys(tmp_path)


def test_what_is_compiled_once_is_kept(toys: Toys) -> None:
    assert toys.run("count") == ({"count": 20}, ["count", "further"])
    assert toys.run("count") == ({"count": 20}, [])
    assert toys.run("fraction") == ({"fraction": 15.0}, ["count", "further"])
    assert toys.run("count", "fraction") == ({"count": 20, "fraction": 15.0}, [])


def test_a_change_of_a_kernel_in_another_file_is_noticed(toys: Toys) -> None:
    toys.run("count")
    toys.write("called", CALLED.replace("number + STEP", "number + 2 * STEP"))
    assert toys.run("count") == ({"count": 30}, ["count", "further"])
    assert len(toys.files()) == 2, "what was compiled of the kernels before is gone"


def test_a_change_of_a_number_is_noticed(toys: Toys) -> None:
    toys.run("count")
    toys.write("called", CALLED.replace("STEP = 1", "STEP = 3"))
    assert toys.run("count") == ({"count": 40}, ["count", "further"])
    toys.write("calling", CALLING.replace("FACTOR = 10", "FACTOR = 100"))
    assert toys.run("count") == ({"count": 400}, ["count"]), "what is called did not change"


def test_installed_anew_nothing_is_compiled(toys: Toys) -> None:
    """Neither the time of a file nor what is said in it matters."""
    toys.run("count")
    toys.write("called", "# A remark.\n\n" + CALLED.replace("Goes one step further.", "Adds one."))
    for file in toys.package.iterdir():
        os.utime(file, (1, 1))
    assert toys.run("count") == ({"count": 20}, [])


def test_a_spoilt_file_is_compiled_again(toys: Toys) -> None:
    toys.run("count", "fraction")
    empty, strange, *cut = toys.files()
    empty.write_bytes(b"")
    strange.write_bytes(b"\x80" * 100)
    for file in cut:
        file.write_bytes(file.read_bytes()[:-1])
    assert toys.run("count", "fraction") == ({"count": 20, "fraction": 15.0}, ["count", "count", "further", "further"])
    assert toys.run("count", "fraction") == ({"count": 20, "fraction": 15.0}, [])


def test_what_cannot_be_read_back_is_compiled_again(toys: Toys) -> None:
    """A whole file that names a class which is nowhere."""
    toys.run("count")
    for file in toys.files():
        body = b"cnowhere\nNothing\n."
        file.write_bytes(hashlib.sha256(body).digest() + body)
    assert toys.run("count") == ({"count": 20}, ["count", "further"])


def test_processes_that_compile_at_once_do_not_spoil_it(toys: Toys) -> None:
    """Different versions of a kernel, and kernels whose parts numba calls the same."""
    asked = ["count", "fraction", "sort", "argsort"]
    running = [toys.start(one) for one in asked]
    for process in running:
        process.communicate()
        assert process.returncode == 0
    answer = {"count": 20, "fraction": 15.0, "sort": [1, 2, 3, 4, 5], "argsort": [1, 2, 3, 4, 5]}
    assert toys.run(*asked) == (answer, [])
    assert {file.suffix for file in toys.files()} == {keeping.SUFFIX}, "nothing half-written is left"


def test_other_packages_do_not_matter() -> None:
    """What is told of who compiles names Python, numba, llvmlite and the NumPy that numba looks at."""
    import llvmlite
    import numba
    import numpy as np

    from reissue.kernels.fingerprint import maker

    versions, numpy, settings = eval(maker())
    assert versions[1:] == (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
    assert numpy == tuple(int(part) for part in np.__version__.split(".")[:2])
    assert all("=" in one for one in settings)


def test_an_inner_kernel_is_not_called_from_python(tmp_path: Path) -> None:
    from reissue.errors import InternalError
    from reissue.kernels import inner

    @inner
    def alone(number: int) -> int:
        return number

    with pytest.raises(InternalError, match="kernels only"):
        alone(1)


def test_a_kernel_reads_only_what_can_be_followed() -> None:
    from reissue.kernels import kernel
    from reissue.kernels.fingerprint import made_of

    strange = object()

    @kernel
    def reading() -> object:
        return strange

    with pytest.raises(TypeError, match="reads a object"):
        made_of(reading)


# Where they are kept


def test_in_the_installation_where_that_can_be_written(tmp_path: Path) -> None:
    places = keeping.choose(tmp_path, None)
    assert places.write is not None
    assert places.write.is_relative_to(tmp_path)
    assert [folder.path for folder in places.read] == [places.write]


def test_in_a_folder_that_is_named(tmp_path: Path) -> None:
    named = tmp_path / "named"
    places = keeping.choose(tmp_path, str(named))
    assert places.write is not None
    assert places.write.parent == named
    assert stat.S_IMODE(places.write.stat().st_mode) == 0o755


def elsewhere(places: keeping.Places, named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not trusted is left alone, and that is said."""
    assert named not in [parent for folder in places.read for parent in folder.path.parents]
    assert places.write is None or named not in places.write.parents
    assert f"nothing is loaded from {named}" in capsys.readouterr().err


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_not_in_a_named_folder_that_others_can_write(
    tmp_path: Path, mode: int, capsys: pytest.CaptureFixture[str]
) -> None:
    named = tmp_path / "named"
    keeping.choose(tmp_path, str(named)).write.chmod(mode)  # type: ignore[union-attr]
    elsewhere(keeping.choose(tmp_path, str(named)), named, capsys)


def test_not_through_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = keeping.choose(tmp_path, str(tmp_path / "named")).write
    assert own is not None
    own.rename(tmp_path / "elsewhere")
    own.symlink_to(tmp_path / "elsewhere")
    elsewhere(keeping.choose(tmp_path, str(tmp_path / "named")), tmp_path / "named", capsys)


def test_not_in_a_named_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "named").write_text("")
    elsewhere(keeping.choose(tmp_path, str(tmp_path / "named")), tmp_path / "named", capsys)


def test_a_folder_of_the_installation_is_no_more_open_than_the_installation(tmp_path: Path) -> None:
    own = keeping.choose(tmp_path, None).write
    assert own is not None
    own.chmod(0o775)
    assert not keeping.Folder(own, tmp_path).trusted()
    tmp_path.chmod(0o775)
    assert keeping.Folder(own, tmp_path).trusted(), "who can write here can change the installation itself"


def test_one_that_somebody_else_owns_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keeping.Folder(tmp_path).trusted()
    monkeypatch.setattr(keeping, "ROOT", -1)
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    assert not keeping.Folder(tmp_path).trusted()
    elsewhere(keeping.choose(tmp_path, str(tmp_path)), tmp_path, capsys)


STRANGER = """
import json, os, sys, tempfile
from pathlib import Path
from reissue.kernels import announcing, keeping

package, shared, strange = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
os.environ.pop("HOME", None)
os.environ.pop("XDG_CACHE_HOME", None)
Path.home = lambda: Path("/nonexistent")
tempfile.tempdir = str(shared)
chosen = keeping.choose(package, None)
keeping.places = lambda: chosen
keeping.write("one-two-three", b"something")
print(json.dumps({
    "write": str(chosen.write), "read": [str(folder.path) for folder in chosen.read],
    "mode": os.stat(chosen.write).st_mode & 0o777, "kept": keeping.read("one-two-three").decode(),
    "strange": (keeping.read(strange) or b"").decode(),
}))
"""


def stranger(package: Path, shared: Path, strange: str = "-") -> dict[str, object]:
    """What somebody without a home, to whom nothing here belongs, finds; a name is looked up for them."""
    about = {**os.environ, "PYTHONPATH": str(Path(ri.__file__).parents[1])}
    asked = [sys.executable, "-c", STRANGER, str(package), str(shared), strange]
    return dict(json.loads(subprocess.run(asked, env=about, check=True, stdout=subprocess.PIPE, text=True).stdout))


def test_a_read_only_installation_without_a_home() -> None:
    """What was compiled for all is read from it; what is missing goes to a private folder of their own."""
    with TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        package, shared = Path(folder) / "package", Path(folder) / "shared"
        package.mkdir()
        shared.mkdir()
        shared.chmod(0o1777)
        installed = keeping.choose(package, None).write
        assert installed is not None
        body = b"for all"
        (installed / f"all-of-them{keeping.SUFFIX}").write_bytes(hashlib.sha256(body).digest() + body)
        for place in (package, *package.rglob("*")):
            place.chmod(0o555)
        found = stranger(package, shared, "all-of-them")
        assert Path(str(found["write"])).is_relative_to(shared)
        assert found["read"] == [str(installed), found["write"]]
        assert (found["mode"], found["kept"], found["strange"]) == (0o700, "something", "for all")
        for place in (package, *package.rglob("*")):
            place.chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_private_folder_that_somebody_else_made_first() -> None:
    with TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        package, shared = Path(folder) / "package", Path(folder) / "shared"
        package.mkdir(0o555)
        shared.mkdir()
        shared.chmod(0o1777)
        first = stranger(package, shared)
        own = Path(str(first["write"]))
        os.chown(own, 12345, 12345)
        own.chmod(0o777)
        found = stranger(package, shared, "one-two-three")
        assert found["write"] != str(own)
        assert str(own) not in found["read"]  # type: ignore[operator]
        assert found["mode"] == 0o700


# What people are told


def test_one_line_without_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "_said", False)
    for number in (1, 2, 3):
        announcing.begin("split", number, 3, number)
    announcing.end()
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert shown.err.startswith("reissue: compiling kernels, once for this installation")


def test_a_line_that_changes_and_goes_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "50")
    announcing.begin("split", 1, 3, 1)
    announcing.begin("halve", 2, 3, 2)
    announcing.begin("a kernel with a name that is longer than all lines", 3, 3, 3)
    announcing.end()
    shown = capsys.readouterr().err
    assert "\n" not in shown
    assert "split (1 of 3, 1 so far)" in shown and "halve (2 of 3, 2 so far)" in shown
    assert max(len(line) for line in shown.split("\r\x1b[K")) < 50
    assert shown.endswith("\r\x1b[K")


def test_whoever_asks_is_told_instead(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[str | None] = []
    with announcing.told(heard.append):
        announcing.begin("split", 4, 3, 7)
        announcing.end()
    assert heard == ["compiling once: split (3 of 3, 7 so far)", None]
    assert capsys.readouterr().err == ""


def test_a_kernel_says_how_many_it_needs(toys: Toys) -> None:
    """As many as are compiled: the kernel and all that it calls."""
    program = """
from reissue.kernels import announcing
heard = []
with announcing.told(heard.append):
    from toys.calling import count
    count(1)
print(heard)
"""
    path = os.pathsep.join([str(toys.package.parent), str(Path(ri.__file__).parents[1])])
    about = {**os.environ, keeping.VARIABLE: str(toys.kept), "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", program], env=about, check=True, capture_output=True, text=True)
    once = "compiling once: "
    assert eval(ran.stdout) == [
        f"{once}calling, count (1 of 2, 1 so far)",
        f"{once}called, further (2 of 2, 2 so far)",
        None,
    ]
    assert ran.stderr == ""


def test_ctrl_c_waits_until_a_kernel_is_compiled() -> None:
    before = signal.getsignal(signal.SIGINT)
    one = SimpleNamespace(data={"dispatcher": SimpleNamespace(_cache=None)})
    watcher = Compilation()
    watcher.on_start(one)
    watcher.on_start(one)
    signal.raise_signal(signal.SIGINT)
    watcher.on_end(one)
    with pytest.raises(KeyboardInterrupt):
        watcher.on_end(one)
    assert signal.getsignal(signal.SIGINT) is before
    watcher.on_start(one)
    watcher.on_end(one)
    assert signal.getsignal(signal.SIGINT) is before
