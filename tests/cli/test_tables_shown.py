"""Tables on the terminal, however narrow that is: every figure whole, every text to its end."""

from __future__ import annotations

import re

import pytest

from reissue.cli.output import cell_text, print_table

COLUMNS = ("group", "method", "people", "estimate", "low", "high")
ROWS = [("fifty to fifty-nine", "MInvariance", 177_584, 0.060872, -12.5, 98_765.4), ("a", "b", 7, 0.5, 0.25, 1.0)]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("width", ["30", "60", "80", ""])
def test_nothing_is_cut(
    narrow: bool, width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if width:
        monkeypatch.setenv("COLUMNS", width)
    print_table("A table", COLUMNS, ROWS, left=(0, 1), narrow=narrow)
    shown = capsys.readouterr().out
    assert "…" not in shown
    for figure in ("177,584", "0.06087", "-12.5", "98,765"):
        assert figure in shown
    letters = re.sub(r"[^a-zA-Z]", "", shown)
    assert sorted(letters) == sorted(
        re.sub(r"[^a-zA-Z]", "", "".join(["A table", *COLUMNS, *map(str, ROWS[0][:2]), "ab"]))
    )


@pytest.mark.parametrize(
    ("cell", "text"),
    [(77_583.6, "77,584"), (1_000_000.0, "1,000,000"), (818.84, "818.8"), (0.0608714, "0.06087"), (3e-5, "3e-05")],
)  # fmt: skip
def test_whole_digits_of_large_numbers(cell: float, text: str) -> None:
    assert cell_text(cell) == text
