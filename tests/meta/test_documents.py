"""README and docs: every example runs, every link leads somewhere, the site builds without a warning.

Each page is run from top to bottom in a folder of its own:

- a block with a title (` ```csv title="january.csv" `) is written to that file;
- a `python` block is run, in one namespace for the page; a `text` block right below it is what it prints;
- a `console` block is run line by line (`$ reissue ...`), and the lines below a command are what it prints. Its exit
  code must be 0 unless the line ends in `# exit code 1`;
- a `toml` block must be TOML, and a policy where it has a schema and a method; a `json` block must be JSON.

In what is printed, `...` stands for anything within a line and, alone on a line, for any lines. The first command of
each block in the README is a real process; elsewhere `reissue` runs in this one, which is faster. A `pyproject.toml`
counts as installed.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import reissue as ri
from reissue.charts import Chart
from reissue.cli import main
from reissue.model import plugins

ROOT = Path(__file__).parents[2]
BESIDE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*BESIDE, *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^```(?P<language>[a-z]*)(?: +title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.M | re.S)
EXIT_CODE = re.compile(r"#\s*exit code (\d)\s*$")
IN_A_SHELL = re.compile(r"[|<>&;*$`]")
RENDERED_ELSEWHERE = ("study-he.md", "study-byun.md")  # every figure, in tests/studies/test_command.py
COMPILING = re.compile(r"^reissue: compiling kernels.*\n", re.M)


@dataclass(frozen=True)
class Block:
    language: str
    title: str | None
    text: str
    line: int
    adjoining: bool
    """Nothing but an empty line stands between this block and the one before."""


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks, end = [], 0
    for found in FENCE.finditer(text):
        adjoining = bool(blocks) and not text[end : found.start()].strip()
        line = text.count("\n", 0, found.start()) + 1
        blocks.append(Block(found["language"], found["title"], found["text"], line, adjoining))
        end = found.end()
    assert text.count("\n```") + text.startswith("```") == 2 * len(blocks), f"{page}: a fence was not understood"
    return blocks


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    surrounded(tmp_path, monkeypatch)
    if page.name in RENDERED_ELSEWHERE:
        monkeypatch.setattr(Chart, "save", lambda chart, path: Path(path).write_text("a chart"))
    _Run(page, tmp_path, real=page.name == "README.md").all_blocks(monkeypatch)


def surrounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page runs in."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")


class _Run:
    """One page in one folder."""

    def __init__(self, page: Path, folder: Path, *, real: bool) -> None:
        self.page = page
        self.folder = folder
        self.real = real
        self.namespace: dict[str, object] = {"__name__": "__main__"}

    def all_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        printed = None
        for block in blocks_of(self.page):
            where = f"{name_of(self.page)}:{block.line}"
            if block.title:
                (self.folder / block.title).write_text(block.text, encoding="utf-8")
                if block.title == "pyproject.toml":
                    self.install(block.text)
                    monkeypatch.setattr(plugins, "installed", lambda: {self.folder.resolve()})
            if block.language == "python" and not block.title:
                printed = self.python(block)
                continue
            if block.language == "text" and not block.title and block.adjoining and printed is not None:
                assert_matches(printed, block.text, where)
            elif block.language == "console":
                self.console(block, monkeypatch)
            elif block.language == "toml":
                self.toml(block, where)
            elif block.language == "json":
                json.loads(block.text)
            printed = None

    def python(self, block: Block) -> str:
        source = "\n" * block.line + block.text
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(source, str(self.page), "exec"), self.namespace)
        return out.getvalue()

    def console(self, block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
        commands = re.split(r"^\$ ", block.text, flags=re.M)
        assert not commands[0].strip(), f"{name_of(self.page)}:{block.line}: output before the first command"
        for at, entry in enumerate(commands[1:]):
            command, _, expected = entry.partition("\n")
            where = f"{name_of(self.page)}:{block.line}: {command}"
            told = EXIT_CODE.search(command)
            real = self.real and at == 0
            if real or not command.startswith("reissue ") or IN_A_SHELL.search(command):
                code, printed = in_a_process(command)
            else:
                code, printed = in_this_process(command, monkeypatch)
            # Said at the first use of an installation only, which the pages do not show.
            printed = COMPILING.sub("", printed)
            assert code == (int(told[1]) if told else 0), f"{where}\nexit code {code}\n{printed}"
            if expected.strip():
                assert_matches(printed, expected, where)

    def toml(self, block: Block, where: str) -> None:
        data = tomllib.loads(block.text)
        if "schema" in data and "method" in data:
            policy = ri.Policy.from_toml(block.text)
            assert ri.Policy.from_toml(policy.to_toml()) == policy, where

    def install(self, pyproject: str) -> None:
        """What `pip install .` does, as far as entry points are concerned."""
        project = tomllib.loads(pyproject)["project"]
        facts = self.folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\n", encoding="utf-8")
        groups = [
            "\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in points.items())])
            for group, points in project["entry-points"].items()
        ]
        (facts / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
        importlib.invalidate_caches()


def in_a_process(command: str) -> tuple[int, str]:
    done = subprocess.run(
        command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=120
    )
    return done.returncode, done.stdout


def in_this_process(command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    printed = io.StringIO()
    with monkeypatch.context() as patch, contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        patch.setattr(sys, "argv", shlex.split(command, comments=True))
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return code, printed.getvalue()


def assert_matches(printed: str, expected: str, where: str) -> None:
    wanted = ""
    for line in expected.strip("\n").splitlines():
        pieces = map(re.escape, line.rstrip().split("..."))
        wanted += "(?:.*\n)*" if line.strip() == "..." else r"[^\n]*".join(pieces) + "\n"
    found = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    matches = re.fullmatch(wanted, found) is not None
    assert matches, f"{where}: expected\n{expected}\nbut it prints\n{found}"


def test_wildcards_match_what_they_should_and_nothing_else() -> None:
    assert_matches("a 1 b\nc\nd\n", "a ... b\n...\nd\n", "")
    assert_matches("a\n", "a\n...\n", "")
    for printed in ("a 1 c\n", "a\n1 b\n", "a 1 b\nd\n", ""):
        with pytest.raises(AssertionError):
            assert_matches(printed, "a ... b\n", "")


def test_readme_needs_two_commands_only() -> None:
    commands = [line for block in blocks_of(ROOT / "README.md") for line in block.text.splitlines()]
    assert [line for line in commands if line.startswith("make")] == ["make demo", "make test"]


@pytest.mark.parametrize("page", BESIDE, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_contributing_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./-]*\w/?)`", text))
    named |= set(re.findall(r"pytest ((?:tests)/[\w./-]+)", text))
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_python_reference_lists_exactly_the_public_names() -> None:
    generator = _script("generate_python_reference")
    text = generator.PAGE.read_text(encoding="utf-8")
    assert sorted(re.findall(r"^### (\w+)$", text, flags=re.M)) == sorted(ri.__all__)
    assert text == generator.page(), "run: .venv/bin/python docs/generate_python_reference.py"


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_docs_build_strictly(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("index.html")}
    for source in (ROOT / "docs").rglob("*.md"):
        place = source.relative_to(ROOT / "docs").with_suffix("")
        assert (place.parent if place.name == "index" else place).joinpath("index.html").as_posix() in pages


def test_docs_need_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assets = _Assets()
        assets.feed(page.read_text(encoding="utf-8"))
        assert assets.foreign == [], page


class _Assets(HTMLParser):
    """Scripts, styles and pictures that a page would fetch from another host."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, address in attrs:
            fetched = name == "src" or (tag == "link" and name == "href" and ("rel", "canonical") not in attrs)
            if fetched and re.match(r"(https?:)?//", address or ""):
                self.foreign.append(address or "")


def test_the_r_example_names_columns_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R is not here to run it: what its formulas name must be columns of the file that it reads."""
    page = ROOT / "docs" / "how-to" / "estimate-counts.md"
    (block,) = [one.text for one in blocks_of(page) if one.language == "r"]
    file = re.search(r'read\.csv\("([^"]+)"\)', block)
    formulas = [
        *re.findall(r"lm\(\s*([^,]+),", block),
        *re.findall(r"cluster\s*=\s*(~[^,)]+)", block),
    ]
    named = {name for one in formulas for name in re.findall(r"[A-Za-z_.]+", one)} - {"factor"}
    assert file is not None and file[1] == "scores.csv" and len(formulas) == 2
    surrounded(tmp_path, monkeypatch)
    _Run(page, tmp_path, real=False).all_blocks(monkeypatch)
    with (tmp_path / file[1]).open(encoding="utf-8") as written:
        columns = written.readline().strip().split(",")
    assert named <= set(columns) and {"cancer", "age", "sex", "release", "cluster"} == named
