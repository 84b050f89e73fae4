"""Validation: how methods, guarantees, attacks and settings look at their parameters."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from reissue.arrays.exact import probability_of
from reissue.errors import ParameterError


class Validation:
    """Looks at all parameters of an object, tidies numbers, and raises once with every problem found."""

    def __init__(self, owner: object) -> None:
        self._owner = owner
        self._problems: list[str] = []

    def whole(self, name: str, *, least: int, optional: bool = False) -> bool:
        """A whole number of at least `least`, or None where that is `optional`; whether it is one of them."""
        value = getattr(self._owner, name)
        if optional and value is None:
            return True
        if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
            self.replace(name, int(value))
            return True
        self.wrong(name, f"a whole number of at least {least}{', or None' if optional else ''}")
        return False

    def real(self, name: str, *, least: float = -math.inf, above: float = -math.inf, most: float = math.inf) -> None:
        """A finite number within limits. Whole numbers stay whole, so that they can be compared exactly."""
        value = getattr(self._owner, name)
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if number and math.isfinite(value) and least <= value <= most and value > above:
            self.replace(name, int(value) if isinstance(value, int | np.integer) else float(value))
        elif math.isfinite(above):
            self.wrong(name, f"a number above {above:g}")
        elif math.isfinite(most):
            self.wrong(name, f"a number from {least:g} to {most:g}")
        else:
            self.wrong(name, f"a number of at least {least:g}")

    def share(self, name: str) -> None:
        """A share above 0 and at most 1, as a number or a text such as "1/3"; a fraction is kept as text."""
        value = getattr(self._owner, name)
        if probability_of(value) is None:
            self.wrong(name, 'a share above 0 and at most 1, as a number or a text such as "1/3"')
        elif isinstance(value, Fraction):
            self.replace(name, str(value))
        elif not isinstance(value, str):
            self.replace(name, float(value))

    def seconds(self, name: str = "seconds", *, optional: bool = True) -> None:
        """A time, above 0; None, where that is `optional`, for no limit."""
        value = getattr(self._owner, name)
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not (optional and value is None) and not (number and value > 0):
            self.wrong(name, f"a number above 0{', or None' if optional else ''}")

    def flag(self, name: str) -> None:
        """True or False."""
        if not isinstance(getattr(self._owner, name), bool):
            self.wrong(name, "True or False (in a policy file: true or false, without quotes)")

    def one_of(self, name: str, choices: tuple[str, ...]) -> None:
        """One of a few words."""
        value = getattr(self._owner, name)
        if not (isinstance(value, str) and value in choices):
            self.wrong(name, " or ".join(f"'{choice}'" for choice in choices))

    def wrong(self, name: str, wanted: str, got: str | None = None) -> None:
        """Note that a parameter is not what is wanted."""
        value = getattr(self._owner, name)
        # Anything but a plain scalar could hold data, and a message must not.
        plain = value is None or isinstance(value, str | int | float | np.number)
        got = got or (f"{value!r}" if plain else f"a {type(value).__name__}")
        self._problems.append(
            f"The '{name}' parameter of {type(self._owner).__name__} must be {wanted}. Got {got} instead."
        )

    def replace(self, name: str, value: object) -> None:
        """Store the tidy form of a parameter in a frozen object that is still being made."""
        object.__setattr__(self._owner, name, value)

    def finish(self) -> None:
        """Raise if anything was wrong."""
        if len(self._problems) == 1:
            raise ParameterError(self._problems[0])
        if self._problems:
            raise ParameterError(
                f"{len(self._problems)} parameters of {type(self._owner).__name__} do not fit.",
                problems=self._problems,
            )
