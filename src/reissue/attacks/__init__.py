"""Attacks: what an outsider can work out. Each sees the published view and the adversary's knowledge only.

    Worlds         all ways to give people values that agree with every release, and how likely each value is
    Equivalence    sets of people who must have the same values (He, Barman & Naughton 2011)
    Correlation    groups that differ in few people only, followed to the end (Riboni & Bettini 2009)
    Channels       groups of two releases held against each other (Byun et al. 2006)
    Minimality     why people were grouped at all (Wong et al. 2007)
    Permanence     values that nobody ever loses, while all others may change (Bu et al. 2008)
    Tracking       everybody's value at each time, where sets of values are published and values change
    Differences    groups that tell by themselves, and what is new, gone or different, where nobody is known by name
    Likelihood     what is likely for whom, learnt from the releases (Kifer 2009) or from elsewhere; by name only
    Mechanism      the method itself, run on every table there may have been; for tiny tables, by hand

`build` makes one from its name in a policy file. Other packages add their own under the entry point group
`reissue.attacks`, with the name in a policy file as the entry point's name. Each attack is loaded when it is first
used. What several of them need to tell what they found is in `figures` (how likely, and against a limit) and
`sentences` (why).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reissue.attacks.base import Attack, Finding, Findings, Judgement, Limits, can_prove
from reissue.attacks.sentences import Witness
from reissue.model import plugins

if TYPE_CHECKING:
    from reissue.attacks.channels.channels import Channels
    from reissue.attacks.correlation.correlation import Correlation
    from reissue.attacks.differences.differences import Differences
    from reissue.attacks.equivalence.equivalence import Equivalence
    from reissue.attacks.likelihood.likelihood import Likelihood
    from reissue.attacks.mechanism.mechanism import Mechanism
    from reissue.attacks.minimality.minimality import Minimality
    from reissue.attacks.permanence.permanence import Permanence
    from reissue.attacks.tracking.tracking import Tracking
    from reissue.attacks.worlds.worlds import Worlds

__all__ = [
    "ATTACKS",
    "Attack",
    "Channels",
    "Correlation",
    "Differences",
    "Equivalence",
    "Finding",
    "Findings",
    "Judgement",
    "Likelihood",
    "Limits",
    "Mechanism",
    "Minimality",
    "Permanence",
    "Tracking",
    "Witness",
    "Worlds",
    "build",
    "can_prove",
    "default_attacks",
    "kind_of",
    "proving",
]

_HOMES = {
    "Worlds": "worlds.worlds",
    "Equivalence": "equivalence.equivalence",
    "Correlation": "correlation.correlation",
    "Channels": "channels.channels",
    "Minimality": "minimality.minimality",
    "Permanence": "permanence.permanence",
    "Tracking": "tracking.tracking",
    "Differences": "differences.differences",
    "Likelihood": "likelihood.likelihood",
}
_BY_HAND = {"Mechanism": "mechanism.mechanism"}
"""Attacks that need more than a name: no policy file and no audit can ask for them."""


ATTACKS: plugins.Loaded[Attack] = plugins.Loaded(
    {name: f"reissue.attacks.{home}:{name}" for name, home in _HOMES.items()}
)
"""The attacks by their names in a policy file."""


def kind_of(name: str) -> type[Attack]:
    """The class of an attack by its name in a policy file, with what it declares about itself."""
    return plugins.kind_of("attack", name, known=ATTACKS, base=Attack)


def build(name: str, /, **parameters: object) -> Attack:
    """Make an attack from its name and parameters, as a policy file gives them."""
    return plugins.make("attack", name, parameters, known=ATTACKS, base=Attack)


def default_attacks(*, nameless: bool = False) -> tuple[str, ...]:
    """The attacks of an audit or a gate that names none. One of another package never enters by itself.

    Those for releases in which nobody is known by name are among them only where it is so: `nameless`.
    """
    return tuple(name for name, kind in ATTACKS.items() if kind.by_default and (nameless or not kind.nameless))


def proving(limit: str, *, permanent: bool = False, sets: bool = False) -> str:
    """The built-in attack that can prove a limit to be kept; where values change, one that does without static ones.

    Where releases show sets of values that is one made for them, unless none of those proves the limit.
    """
    able = [name for name, kind in ATTACKS.items() if limit in kind.proves]
    fit = [name for name in able if can_prove(ATTACKS[name], permanent=permanent, sets=sets)]
    return next(iter([*fit, *able]))


def __getattr__(name: str) -> Any:
    if name in _BY_HAND:
        return getattr(import_module(f"reissue.attacks.{_BY_HAND[name]}"), name)
    if name not in _HOMES:
        raise AttributeError(f"module 'reissue.attacks' has no attribute '{name}'")
    return ATTACKS[name]
