"""How people and values are called in a report: by number and letter, unless somebody asks for more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reissue.attacks.base import Finding
from reissue.attacks.sentences import Witness
from reissue.model.published import Published

Called = Callable[[int], str]


@dataclass(frozen=True, repr=False)
class Naming:
    """What a report may show of people and values."""

    published: Published
    show_people: bool = False
    """Call people as the view does, or as `called` says, instead of `person 17`."""
    show_values: bool = False
    """Name sensitive values instead of lettering them."""
    called: Called | None = None
    """Where people are shown: the name behind a number."""

    def person(self, number: int) -> str:
        """How a person is called."""
        if number < 0:
            return f"counterfeit {-number:,}"
        if not self.show_people:
            return f"person {number}"
        if self.called is not None:
            return self.called(number)
        name = self.published.name(number)
        return name if isinstance(name, str) else f"person {name}"

    def who(self, finding: Finding) -> str:
        """The most exposed of a finding; nobody by name where it is not known who is in a group."""
        return self.person(finding.people[0]) if finding.people else "somebody in a group"

    def witness(self, finding: Finding) -> str:
        """The derivation behind a finding, in words."""
        return self.told(finding.witness)

    def told(self, witness: Witness) -> str:
        """A derivation in words."""
        return witness.text(self.published, name=self.person, show_values=self.show_values)
