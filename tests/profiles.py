"""How much the tests try: little in `make test`, and the same every time; much in `make test-thorough`, always other.

The two differ in nothing else; `chance.py` is for what the library draws. Which of them runs is said by hypothesis' own
option, `--hypothesis-profile=thorough`; it is known before test files are read, so that parameters can depend on it.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

TIMES = 20
"""How many examples thorough tests try for each one of the quick tests, where nothing else is said."""

QUICK = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("quick", QUICK)
settings.register_profile("thorough", QUICK, max_examples=25 * TIMES, derandomize=False)


def thorough() -> bool:
    """Whether this is the thorough run."""
    return settings.get_current_profile_name() == "thorough"


def sized(quick: int, thoroughly: int) -> int:
    """A number of repetitions, or of what they must have come upon."""
    return thoroughly if thorough() else quick


def seeds(quick: int, thoroughly: int, first: int = 0) -> range:
    """Seeds for a test's parameter or loop; the quick ones are the first of the thorough ones."""
    return range(first, first + sized(quick, thoroughly))


def examples(quick: int, *more: HealthCheck) -> settings:
    """Settings of a property: so many examples, and `TIMES` as many in the thorough run.

    `more` names health checks that do not apply to it.
    """
    suppressed = [*QUICK.suppress_health_check, *more]
    return settings(
        max_examples=sized(quick, quick * TIMES), derandomize=not thorough(), suppress_health_check=suppressed
    )
