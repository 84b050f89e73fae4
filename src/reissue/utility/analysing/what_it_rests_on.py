"""What estimates from a release rest on, in plain sentences: nothing that rests on a guess is to pass for a fact."""

from __future__ import annotations

from collections.abc import Sequence

from reissue.errors import listed
from reissue.tables.set_views import FORM
from reissue.utility.analysing.groups_asked import FAITHFUL, REPLACING
from reissue.utility.analysing.public_files import PublicRelease
from reissue.utility.row_scores import why_not_by_design


def notes_on(releases: Sequence[PublicRelease]) -> list[str]:
    """Each sentence once, for all releases together."""
    found = [note for release in releases for note in _notes(release)]
    if len(releases) > 1 and any(release.form == FORM for release in releases):
        found.append(
            "Over releases, rows that agree in all published columns are taken to be the same person; rows whose "
            "quasi-identifiers changed are taken to be others, which makes errors of differences too large."
        )
    elif len(releases) > 1:
        found.append(
            "Errors of differences between releases take the groups of each release to be filled independently."
        )
    numbers = [release.number for release in releases]
    if gaps := [str(number) for number in range(min(numbers), max(numbers)) if number not in numbers]:
        found.append(f"Not here: release {', '.join(gaps)}. Trends and changes pass over what is missing.")
    return list(dict.fromkeys(found))


def _notes(release: PublicRelease) -> list[str]:
    notes = _of_sets(release) if release.form == FORM else _of_groups(release)
    if marked := sorted(release.published({}).marked):
        notes.append(
            f"Where {listed([f'{name}_missing' for name in marked])} is true, some of a region have no number. How "
            "many is not said: estimates take all of them to have one, low and high do not."
        )
    return notes


def _of_sets(release: PublicRelease) -> list[str]:
    notes = [
        "Estimates are by scores: right on average, whoever has which value. Those of small groups may be below 0.",
        "Errors are for the people of the table; of = 'population' (--of population) takes them for a sample of people "
        "like them.",
    ]
    if release.has_regions:
        notes.append(
            "Quasi-identifiers are regions. People are taken to be spread evenly over them, which nothing says: of a "
            "label that few have, and that stands in large regions, far too many people can be estimated, and the "
            "error does not show it. Low and high of groups that cut through regions ('at least 95 %') hold wherever "
            "people are in their regions. Slopes have neither where they rest on regions: they are drawn towards 0."
        )
    if release.record is not None and release.number > 1 and release.record["method"].get("changed") == "withhold":
        notes.append(
            "People whose value changed against what the design declares are withheld: they are in no count. Shares "
            "after the first release are those of the others, and not of the whole table; low and high do not show it."
        )
    if release.record is None:
        notes.append("Without its record a release is taken to have sets that are all drawn by the design.")
    elif why := why_not_by_design(release.number, release.design):
        notes.append(f"Values of release {release.number} cannot be counted by the design: {why}.")
    return notes


def _of_groups(release: PublicRelease) -> list[str]:
    spread = (
        "People are taken to be spread evenly over the region of their group"
        if release.form == "generalised"
        else "The values of a group are taken to be spread evenly over its people"
    )
    notes = [
        f"{spread}. Nothing says that they are: estimates are not unbiased, and those of groups that cut through many "
        "groups of the release are drawn towards the average.",
        "Errors are what chance adds if they were placed at random; they do not say how far off the spreading is.",
    ]
    if release.method in REPLACING:
        notes.append(f"{release.method} puts other values in the place of some: values cannot be counted.")
    elif release.has("counterfeits"):
        notes.append(
            "Bounds are certain for the people published, whichever rows are the counterfeits that the release tells "
            "of; estimates count these like all others."
        )
    elif release.method in FAITHFUL:
        notes.append("Low and high are bounds that are certain for the people published, not 95 % intervals.")
    elif release.record is None:
        notes.append("There are no bounds: without its record it is not known whether a release has counterfeits.")
    else:
        notes.append(
            f"There are no bounds: {release.method} may add counterfeits, and the release does not tell of them."
        )
    if release.method not in (*FAITHFUL, None):
        notes.append("People may have been withheld; they are in no count.")
    return notes
