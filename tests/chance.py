"""Seeds that are the same every time: a test that passes by chance, or fails by it, does so on every machine.

The library asks the operating system for the seeds of its draws. In tests in this process they follow from the name of
the test, or of the fixture that draws them for several tests; REISSUE_CHANCE, any text, gives others. The thorough run
takes them from the system, as the library does.
"""

from __future__ import annotations

import os
import secrets
from random import Random

VARIABLE = "REISSUE_CHANCE"
OTHERWISE = os.environ.get(VARIABLE, "")


class Chance:
    """In place of `secrets.randbits`."""

    def __init__(self) -> None:
        self._system = secrets.randbits
        self._drawn: Random | None = None

    def __call__(self, bits: int) -> int:
        return self._system(bits) if self._drawn is None else self._drawn.getrandbits(bits)

    def begin(self, name: str) -> Random | None:
        """Draw what belongs to a test or a fixture from here on; gives what was drawn from before."""
        before, self._drawn = self._drawn, Random(f"{OTHERWISE}/{name}")
        return before

    def back_to(self, drawn: Random | None) -> None:
        """Go on with what was drawn from before."""
        self._drawn = drawn


CHANCE = Chance()
