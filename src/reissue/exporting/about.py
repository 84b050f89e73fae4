"""What whoever sends a package says about it: title, publisher, licence, contact."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from reissue.errors import ParameterError, check_text, printable

_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_WEB = re.compile(r"https?://[^\s]+")
_LICENCE = re.compile(r"[-A-Za-z0-9._+]+")


@dataclass(frozen=True)
class About:
    """Words of the sender; None where nothing was said."""

    title: str | None = None
    publisher: str | None = None
    licence: str | None = None
    """An identifier such as CC-BY-4.0, an address on the web, or words."""
    contact: str | None = None
    """An e-mail address, an address on the web, or words."""

    def __post_init__(self) -> None:
        problems = []
        for field in fields(self):
            text = getattr(self, field.name)
            if text is None:
                continue
            if not isinstance(text, str):
                problems.append(f"'{field.name}' must be a text. Got {type(text).__name__} instead.")
                continue
            check_text(f"The '{field.name}' parameter of export", text)
            if not text.strip() or printable(text) != text:
                problems.append(f"'{field.name}' must be one line of text.")
        if problems:
            raise ParameterError("What is said about the package cannot be written.", problems=problems)

    def contributors(self) -> list[dict[str, object]]:
        """Publisher and contact, as a data package names them."""
        reached: dict[str, object] = {}
        if self.contact is not None and _ADDRESS.fullmatch(self.contact):
            reached = {"email": self.contact}
        elif self.contact is not None and _WEB.fullmatch(self.contact):
            reached = {"path": self.contact}
        made: list[dict[str, object]] = []
        if self.publisher is not None:
            made.append({"title": self.publisher, "roles": ["publisher"], **reached})
        if self.contact is not None and (not reached or not made):
            made.append({"title": self.contact, "roles": ["contact"], **reached})
        return made

    def licences(self) -> list[dict[str, object]]:
        """The licence, as a data package names it."""
        if self.licence is None:
            return []
        if _WEB.fullmatch(self.licence):
            return [{"path": self.licence}]
        if _LICENCE.fullmatch(self.licence):
            return [{"name": self.licence}]
        return [{"name": slug(self.licence) or "other", "title": self.licence}]


def slug(text: str) -> str:
    """A text as it may stand in a name: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:80].strip("-")
