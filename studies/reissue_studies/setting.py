"""What the settings of all studies share: seeds that do not repeat each other, and the check of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from reissue.errors import ParameterError
from reissue.samples.census import whole_numbers


class StudySetting:
    """The base of a paper's setting, which is a frozen dataclass with a seed."""

    seed: int
    """The same seed gives the same tables, releases and queries."""

    @cached_property
    def _seeds(self) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed)

    def seed_of(self, number: int) -> int:
        """One of many seeds, so that nothing that is drawn repeats what was drawn for something else."""
        return int(self._seeds.generate_state(number + 1)[number])

    def check_sizes(self, **least: int) -> None:
        """Refuse parameters that are not whole numbers of at least so much, and a wrong seed.

        A parameter may be left out, as None, where that is its default.
        """
        left_out = {name for name in least if getattr(self, name) is None is getattr(type(self), name)}
        bounds = {name: (getattr(self, name), low) for name, low in least.items() if name not in left_out}
        whole_numbers(type(self).__name__, self.seed, **bounds)


def refuse(owner: str, problems: Sequence[str]) -> None:
    """Raise all problems at once, if there are any."""
    if len(problems) == 1:
        raise ParameterError(problems[0])
    if problems:
        raise ParameterError(f"{len(problems)} parameters of {owner} do not fit.", problems=problems)


def several_wholes(
    owner: str,
    name: str,
    given: Sequence[object],
    least: int,
    most: int | None = None,
    *,
    ascending: bool = False,
    because: str = "",
) -> list[str]:
    """The problem with a parameter that must be different whole numbers in a range, if there is one.

    `because` goes before the upper bound: "m = " where that is what m happens to be.
    """
    whole = [one for one in given if type(one) is int and one >= least and (most is None or one <= most)]
    fits = whole and len(whole) == len(given)
    if fits and (whole == sorted({*whole}) if ascending else len({*whole}) == len(whole)):
        return []
    kind = "ascending" if ascending else "different"
    span = f"of at least {least}" if most is None else f"from {least} to {because}{most}"
    return [_wrong(owner, name, f"{kind} whole numbers {span}", given)]


def several_shares(owner: str, name: str, given: Sequence[object], *, within: bool = False) -> list[str]:
    """The problem with a parameter that must be different numbers from 0 to 1, or within, if there is one."""
    if given and not any(one_share(owner, name, one, within=within) for one in given) and len({*given}) == len(given):
        return []
    return [_wrong(owner, name, f"different numbers {_span(within)}", given)]


def one_share(owner: str, name: str, given: object, *, within: bool = False) -> list[str]:
    """The problem with a parameter that must be a number from 0 to 1, or within, if there is one."""
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if number and (0 < given < 1 if within else 0 <= given <= 1):  # type: ignore[operator]
        return []
    return [_wrong(owner, name, f"a number {_span(within)}", given)]


def _span(within: bool) -> str:
    return "above 0 and below 1" if within else "from 0 to 1"


def _wrong(owner: str, name: str, wanted: str, given: object) -> str:
    return f"The '{name}' parameter of {owner} must be {wanted}. Got {given!r} instead."
