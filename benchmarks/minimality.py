"""Speed of the minimality attack, of Mask and of AlphaK on Adult with eight quasi-identifiers, beside the floor.

python benchmarks/minimality.py --adult folder/with/adult.data --json figures.json

The floor reads the table, sorts it by the quasi-identifiers and writes it. A method goes from the file to a draft: it
reads and codes the table, groups people, makes the public tables and checks its promises. The attack begins with the
outsider's view of such a draft, and ends with the credibility of everybody.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import RATIOS, SEED, Floor, console, save, scratch, show, time_in_turns, timed_arguments
from reissue_studies.wong.setting import Run, Setting
from reissue_studies.wong.taxonomies import QUASI

import reissue as ri
from reissue.attacks.minimality.minimality import Minimality
from reissue.model.knowledge import Knowledge
from reissue.publishing.inspection import Sight
from reissue.publishing.series import draft

FLOOR = "floor"
MS = (2, 10)
K = 2
AT_MOST = 2.0
"""So many seconds the attack and Mask may take."""
PAPER = {2: 173, 10: 239}
"""The seconds that the attack took in the paper, by m, on a PC of 2007."""


@dataclass(frozen=True)
class Drafting:
    """A job that drafts a release of a file."""

    path: Path
    run: Run
    setting: Setting

    @property
    def policy(self) -> ri.Policy:
        """The policy of the release."""
        return ri.Policy(self.setting.schema(self.run.size), self.run.method)

    def draft(self) -> ri.Draft:
        """From the file to the draft."""
        return draft(self.path, self.policy, seed=SEED, gate=False)

    def __call__(self, folder: Path) -> None:
        """Nothing is written."""
        self.draft()


class Attacking:
    """A job that attacks a release of AlphaK by local recoding."""

    def __init__(self, drafting: Drafting) -> None:
        self.sight = Sight.of_draft(drafting.draft(), None)

    def __call__(self, folder: Path) -> None:
        """From the outsider's view to the credibilities."""
        _ = Minimality().run(self.sight.view, Knowledge(minimal=self.sight.minimal)).classes


def jobs(path: Path, setting: Setting) -> dict[str, Any]:
    """What is timed, by its name in the table."""
    size = len(QUASI)
    local = {m: Drafting(path, Run("AlphaK", m, 1, size), setting) for m in MS}
    made: dict[str, Any] = {FLOOR: Floor(path, QUASI)}
    made |= {f"the attack, m = {m}": Attacking(local[m]) for m in MS}
    for m in MS:
        made[f"Mask, m = {m}, k = {K}"] = Drafting(path, Run("Mask", m, K, size), setting)
        made[f"AlphaK, local, m = {m}"] = local[m]
        made[f"AlphaK, full-domain, m = {m}"] = Drafting(path, Run("AlphaK", m, 1, size, "full-domain"), setting)
    return made


def main() -> int:
    """Run everything in turns; 1 if the targets were to be checked and one was missed."""
    given = _arguments()
    setting = Setting(path=given.adult)
    with scratch(given.folder) as folder:
        path = folder / "adult.parquet"
        setting.table.write_parquet(path)
        times = time_in_turns(jobs(path, setting), given.repeats)
    figures, lines, missed = {}, [], []
    for name, found in times.items():
        ratios = found.beside(times[FLOOR])
        aimed = name.startswith(("the attack", "Mask"))
        figures[name] = {**found.to_dict(), **ratios}
        target = f"{AT_MOST:g}" if aimed else ""
        both = (f"{ratios[which]:.1f}" for which in ("floors", "cpu_floors"))
        lines.append([name, f"{found.median:.3f}", found.spread, *both, target])
        missed += [name] if aimed and found.median > AT_MOST else []
    table = "people invented after the model of Adult" if given.adult is None else "complete rows of Adult"
    show(
        f"{setting.table.height:,} {table}, {len(QUASI)} quasi-identifiers (median of {given.repeats})",
        ["", "seconds", "fastest to slowest", *RATIOS, "at most, s"],
        lines,
        times,
    )
    told = ", ".join(f"{seconds} s for m = {m}" for m, seconds in PAPER.items())
    console().print(f"the attack in the paper (Pentium IV, 2.2 GHz): {told}")
    save(given.json, {"rows": setting.table.height, "adult": given.adult is not None, "minimality": figures})
    for name in missed:
        console().print(f"missed: {name} takes more than {AT_MOST:g} seconds")
    return 1 if given.check and missed else 0


def _arguments() -> argparse.Namespace:
    parser = timed_arguments(__doc__)
    parser.add_argument("--adult", type=Path, help="UCI's adult.data with adult.test beside it, or their folder")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a target is missed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
