"""Where in the files a finding is: the lines of a group, so that somebody can look at the rows themselves."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from reissue.arrays.runs import chosen, owners, starts_of, totals
from reissue.arrays.types import Ints
from reissue.attacks.sentences import Place, Witness
from reissue.auditing.subject import Subject
from reissue.auditing.words import brief
from reissue.model.published import Published, PublishedGroups

MOST = 12
"""So many lines, or runs of lines, are told one by one."""


def file_of(subject: Subject | None, release: int) -> str | None:
    """The file or folder of a release; None where it is not known."""
    return None if subject is None else subject.files.get(release) or None


def lines_of(release: PublishedGroups, group: int, most: int = MOST) -> str | None:
    """The lines of a group, counted from 1, in its file: `17, 204-206`; None where they are not known."""
    lines = release.lines_of(group - 1)
    return None if lines is None or not lines.size else lines_told(lines, most)


def lines_told(lines: Ints, most: int = MOST) -> str:
    """Numbers of lines, ascending, with runs in short: `17, 204-206 and 31 more`."""
    breaks = np.flatnonzero(np.diff(lines) != 1) + 1
    first, last = lines[np.append(0, breaks)], lines[np.append(breaks, lines.size) - 1]
    told = [
        f"{a}" if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}"
        for a, b in zip(first[:most].tolist(), last[:most].tolist(), strict=True)
    ]
    left = int((last[most:] - first[most:] + 1).sum())
    return f"{', '.join(told)} and {left:,} more" if left else ", ".join(told)


def lines_of_all(release: PublishedGroups, groups: Ints, most: int = MOST) -> pl.Series:
    """The same as `lines_of` for many groups at once."""
    if release.lines is None or release.line_starts is None:
        return pl.Series([None], dtype=pl.String).new_from_index(0, groups.size)
    at, starts = chosen(release.line_starts, groups - 1)
    lines, owner = release.lines[at], owners(np.diff(starts))
    begins = np.ones(lines.size, dtype=bool)
    begins[1:] = (np.diff(lines) != 1) | (np.diff(owner) != 0)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], lines.size)[: first.size] - 1
    of = owner[first]
    run_starts = starts_of(np.bincount(of, minlength=groups.size))
    early = np.arange(first.size) - run_starts[of] < most
    a, b = (lines[ends].astype(np.int64) for ends in (first, last))
    each = pl.DataFrame({"of": of[early], "a": a[early], "b": b[early]}).select(
        "of",
        told=pl.when(pl.col("a") == pl.col("b"))
        .then(pl.col("a").cast(pl.String))
        .when(pl.col("b") == pl.col("a") + 1)
        .then(pl.format("{}, {}", "a", "b"))
        .otherwise(pl.format("{}-{}", "a", "b")),
    )
    told = each.group_by("of", maintain_order=True).agg(pl.col("told").str.join(", "))
    texts = pl.DataFrame({"of": np.arange(groups.size)}).join(told, on="of", how="left", maintain_order="left")["told"]
    left = totals(np.where(early, 0, b - a + 1), run_starts)
    for group in np.flatnonzero(left).tolist():
        texts[group] = f"{texts[group]} and {left[group]:,} more"
    return texts


def told(
    published: Published, subject: Subject | None, place: Place, most: int = MOST, letters: int = 1000
) -> str | None:
    """Where a group is: `2020-04-03.csv lines 17, 204, 311`, or the file and its group; None without a file.

    The name of the file has at most so many letters.
    """
    file = file_of(subject, place.release)
    file = None if file is None else brief(file, letters)
    release = next((one for one in published.plain if one.number == place.release), None)
    lines = None if release is None or place.group > release.group_count else lines_of(release, place.group, most)
    if lines is None:
        return None if file is None else f"{file}, group {place.group:,}"
    several = "," in lines or "-" in lines or " and " in lines
    return f"{file or f'release {place.release}'} {'lines' if several else 'line'} {lines}"


def holds(published: Published, place: Place, person: int, *, supposed: bool) -> bool:
    """Whether somebody is known to be in a group; `supposed`: or would be in no other of its release."""
    release = next((one for one in published.plain if one.number == place.release), None)
    if release is None or not 0 < place.group <= release.group_count:
        return False
    listed = np.flatnonzero(release.members == person)
    here = listed[release.member_groups[listed] == place.group - 1]
    sure = release.sure is None or bool(release.sure[here].any())
    return here.size > 0 and (sure or (supposed and listed.size == 1))


def places_in(witness: Witness) -> Iterable[Place]:
    """The groups that a derivation names, each once, in its order."""
    return dict.fromkeys(part for sentence in witness.sentences for part in sentence if isinstance(part, Place))
