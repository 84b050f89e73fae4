"""The set-up of the comparison: which streams, how large, and what is asked of all methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reissue.errors import ParameterError, listed
from reissue.utility import Workload
from reissue_studies.methods.streams import GENERATED, STREAMS, Stream, generated, missing, real
from reissue_studies.setting import StudySetting, one_share, refuse

GENERATED_M, REAL_M = 10, 4
"""How many values everybody is hidden among, where nothing else is asked for."""
DIMENSIONS, SELECTIVITY = 2, 0.05
"""COUNT queries restrict so many quasi-identifiers and the value, and ask for so many of the people."""


@dataclass(frozen=True)
class Setting(StudySetting):
    """Streams, their size, and the parameters of all methods."""

    rows: int = 10_000
    """How many people are in each generated table. Of real ones so many are drawn, if there are more."""
    releases: int = 5
    """How many tables of each stream are published."""
    changing: float = 0.0
    """The share of generated people whose value is another in the next table. 0, as in the papers: there their methods
    are at their best, and so are attacks, which take values for fixed."""
    m: int | None = None
    """m, l and k of all methods; 10 for the generated stream and 4 for the others by default."""
    streams: tuple[str, ...] | None = None
    """The streams by name; all whose files are there by default."""
    data: str | Path | None = None
    """The folder with the files of real streams; without it there is the generated one alone."""
    queries: int = 1_000
    """How many COUNT queries are asked."""
    drawings: int = 20
    """How often the first table is drawn anew, to see how many 95 % intervals hold the truth."""
    seconds: float = 20.0
    """How long `Worlds` may take, for each method and stream."""
    seed: int = 1

    def __post_init__(self) -> None:
        self.check_sizes(rows=100, releases=2, m=2, queries=1, drawings=0)
        problems = one_share("Setting", "changing", self.changing)
        asked = self.streams if self.streams is not None else STREAMS
        if not asked or not {*asked} <= {*STREAMS} or len({*asked}) < len(asked):
            problems.append(
                f"The 'streams' parameter of Setting must be different names among {listed(STREAMS)}. "
                f"Got {self.streams!r} instead."
            )
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float) or self.seconds <= 0:
            problems.append(
                f"The 'seconds' parameter of Setting must be a number above 0. Got {self.seconds!r} instead."
            )
        if self.data is not None and not Path(self.data).is_dir():
            problems.append(f"The 'data' parameter of Setting must be a folder. Got '{self.data}' instead.")
        refuse("Setting", problems)
        lacking = {name: self._missing(name) for name in self.streams or ()}
        if any(lacking.values()):
            raise ParameterError(
                "Streams were asked for whose files are not there.",
                problems=[f"{name}: {' and '.join(files)}" for name, files in lacking.items() if files],
                hint="name the folder that holds the files with --data, or leave the stream out.",
            )

    def _missing(self, name: str) -> list[str]:
        """What is not there of the files of a stream."""
        if name == GENERATED:
            return []
        if self.data is None:
            return ["its files are real data, and no folder of them is named (--data, or REISSUE_DATA)"]
        return [f"'{file}' is not in '{self.data}'" for file in missing(name, Path(self.data))]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The streams that are compared: those asked for, or all that are there."""
        return self.streams or tuple(name for name in STREAMS if not self._missing(name))

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The streams that nobody asked for by name and that are not there, with the reason."""
        if self.streams is not None:
            return {}
        return {name: " and ".join(self._missing(name)) for name in STREAMS if name not in self.names}

    def stream(self, name: str) -> Stream:
        """A stream, generated or read from its files."""
        if name == GENERATED:
            return generated(self.rows, self.releases, self.changing, self.seed_of(0))
        return real(name, Path(str(self.data)), self.rows, self.releases, self.seed_of(0))

    def m_of(self, name: str) -> int:
        """m for a stream."""
        return self.m or (GENERATED_M if name == GENERATED else REAL_M)

    def release_seed(self, number: int) -> int:
        """The seed of the method's random choices for the release of this number."""
        return self.seed_of(2) + number

    def drawing_seed(self, number: int) -> int:
        """The seed of a release that is drawn anew."""
        return self.seed_of(3) + number

    @property
    def workload(self) -> Workload:
        """The queries, the same for every method."""
        return Workload(DIMENSIONS, SELECTIVITY, self.queries, seed=self.seed_of(1))


FULL = Setting(rows=200_000)
"""The size at which the figures of the documentation were measured; real streams whole."""
