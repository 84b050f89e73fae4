"""The page about the command line says what the commands themselves say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from reissue.cli import app

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = [info.callback.__name__.replace("_", "-") for info in app.registered_commands if info.callback is not None]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_cli_reference", DOCS / "generate_cli_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date(generator: ModuleType) -> None:
    text = generator.PAGE.read_text(encoding="utf-8")
    assert text == generator.page(), "run: .venv/bin/python docs/generate_cli_reference.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_page_names_every_option_that_help_names(
    generator: ModuleType, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Typer's own help is the second opinion: the page is made from signatures, without Typer's parser.
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown.output)
    options = set(re.findall(r"^\W*(--[a-z-]+)", plain, flags=re.M)) - {"--help"}
    section = generator.page().partition(f"\n## reissue {command}\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(--[a-z-]+)`", section, flags=re.M)) == options
