"""Private: who is behind the releases of a series. Nothing that it gives belongs in a public file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import ParameterError
from reissue.ledger import Ledger
from reissue.model.domain import COUNTERFEIT, GROUP, PERSON
from reissue.publishing import archive
from reissue.publishing.policy import Policy, key_of
from reissue.tables.frames import Library, to_library
from reissue.tables.identities import plain_id, pseudonym
from reissue.tables.set_views import FORM


class Private:
    """Who is behind the releases of a series; `series.private`."""

    def __init__(self, ledger: Ledger, folder: Path, policy: Callable[[], Policy], frames: Library) -> None:
        self._ledger, self._folder, self._policy = ledger, folder, policy
        self._frames: Library = frames

    def __repr__(self) -> str:
        return f"Private('{self._folder}')"

    def members(self, number: int) -> Any:
        """Who was published in which group of a release.

        `person` is null for someone forgotten and for a made-up row; `counterfeit` is the number of such a row, the
        same in every release as long as it lives, and null for people. Who was held back is not in it. Where sets of
        values are published, `alternatives` has the set of each person, and there are no groups; where several columns
        are sensitive, `<column>_alternatives` has that of each.
        """
        record = archive.existing(self._ledger, number)
        if record.manifest["form"] == FORM:
            return self._with_alternatives(number)
        rows, made = archive.members(self._ledger, self._existing(number))
        people = self._named(rows.select(pl.col(PERSON).alias("number"), pl.col(GROUP).alias("group")).drop_nulls())
        nobody = pl.lit(None, dtype=pl.UInt32).alias("counterfeit")
        frame = people.select("person", "group", nobody)
        if made is not None:
            nameless = pl.lit(None, dtype=frame.schema["person"]).alias("person")
            frame = pl.concat([frame, made.select(nameless, group=GROUP, counterfeit=COUNTERFEIT)])
        return to_library(frame.sort("group", "person", "counterfeit"), self._frames)

    def _with_alternatives(self, number: int) -> Any:
        """Who was published with which set of values."""
        rows = archive.members(self._ledger, number)[0].drop_nulls(GROUP)
        schema = self._policy().schema
        table = self._ledger.public_table(number, "table")
        called = {
            name: f"{name}_alternatives" if schema.several else "alternatives" for name in schema.sensitive_columns
        }
        sets = [table[name].gather(rows[GROUP] - 1).alias(new) for name, new in called.items()]
        people = self._named(rows.select(pl.col(PERSON).alias("number")).with_columns(sets))
        return to_library(people.select("person", *called.values()).sort("person"), self._frames)

    def held_back(self, number: int) -> Any:
        """Who was in the table of a release and not in the release.

        `reason` says why, `since` is the release from which on the person has been held back without a break.
        """
        held = archive.held_back(self._ledger, self._existing(number))
        frame = self._named(held).select("person", "reason", "since").sort("since", "reason", "person")
        return to_library(frame, self._frames)

    def replaced(self, number: int) -> Any:
        """Who was published with another sensitive value: `person`, `value` and what was `published`.

        Of a release that was made elsewhere this is not known.
        """
        sensitive = self._policy().schema.sensitive
        frame = self._named(archive.replaced(self._ledger, self._existing(number), sensitive))
        return to_library(frame.select("person", "value", "published").sort("person"), self._frames)

    def roles(self, number: int) -> Any:
        """Who played which role in a release, where the method gives roles (HD-composition).

        `person`, `value`, `role` (holder, heir of a dead one, decoy, buddy), `cohort` (1 for holders), `container`,
        `awake`, `present`. A buddy is somebody who could take over from a decoy or pass for a holder.
        """
        frame = self._named(archive.roles(self._ledger, self._existing(number)))
        columns = ("person", "value", "role", "cohort", "container", "awake", "present")
        return to_library(frame.select(columns).sort("value", "container", "cohort", "role", "person"), self._frames)

    def name_of(self, number: int) -> Any:
        """The id (or pseudonym) behind a person number; None for someone forgotten."""
        found = self._ledger.people().filter(pl.col("number") == number)["id"]
        if not found.len():
            raise ParameterError(f"There is no person number {number} in the series.")
        return found.item()

    def pseudonym(self, person: object) -> str:
        """The keyed hash that stands for an id in `members`, where the policy keeps hashes."""
        key = key_of(self._policy(), self._folder)
        if key is None:
            raise ParameterError("This series keeps ids as they are: there are no pseudonyms.")
        return pseudonym(plain_id(person), key)

    def id_from_text(self, text: str) -> object:
        """An id typed by hand, in the type that ids have in this series' tables."""
        last = self._ledger.last()
        if last is None:
            return text
        known = archive.domain(self._ledger, last.number).columns.get(PERSON)
        if known is not None and known.type == "whole numbers" and re.fullmatch(r"\s*-?[0-9]{1,18}\s*", text):
            return int(text)
        return text

    def _existing(self, number: int) -> int:
        return archive.existing(self._ledger, number).number

    def _named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the id for each `number` as `person`; null for someone forgotten."""
        return rows.join(self._ledger.people(), on="number", how="left").rename({"id": "person"})
