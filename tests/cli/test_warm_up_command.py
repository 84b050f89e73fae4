"""`reissue warm-up`: what it says, and how it ends."""

from __future__ import annotations

import pytest
from command_line import Run

from reissue.publishing.warming import Small


def test_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Small, "run", lambda small: None)
    done = run("warm-up", "--method", "EEquivalence")
    assert done.code == 0
    assert "kept " in done.out
    assert done.err == "reissue: EEquivalence, anatomised (1 of 1)\n"
    assert {*run("warm-up", "--method", "Mask", "--json").data} == {"compiled", "folder", "bytes"}
    wrong = run("warm-up", "--method", "Mondrain")
    assert (wrong.code, wrong.out) == (2, "")
    assert "near it: 'Mondrian'" in wrong.err
