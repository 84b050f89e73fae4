"""Export: releases as a package for recipients, from a series or from public files alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

from reissue.errors import ParameterError, Refused, check_text, count_of
from reissue.exporting.about import About
from reissue.exporting.package import Exported, Format, write_package
from reissue.exporting.public_releases import public_folders
from reissue.exporting.sent_hierarchies import Hierarchies
from reissue.ledger.layout import Layout, is_release_name
from reissue.model.release import Release

Chosen = int | Sequence[int] | Literal["all"] | None
"""Releases by number: one, several, all, or the last one."""


def export(
    source: str | Path,
    folder: str | Path,
    number: Chosen = None,
    *,
    format: Format = "csv",
    force: bool = False,
    title: str | None = None,
    publisher: str | None = None,
    licence: str | None = None,
    contact: str | None = None,
    hierarchies: Hierarchies = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Exported:
    """Write releases to a folder as a package for recipients; see `Series.export`.

    `source` is the folder of a series, its folder `public`, or the folder of one release. Public files alone give the
    same bytes as the series, unless it knows that a release was retracted.
    """
    source = Path(source)
    if Layout.of(source).catalog.is_file():
        from reissue.publishing.series import open as open_series

        with open_series(source) as series:
            return series.export(
                folder,
                number,
                format=format,
                force=force,
                title=title,
                publisher=publisher,
                licence=licence,
                contact=contact,
                hierarchies=hierarchies,
                progress=progress,
            )
    check_text("The folder to export to", folder)
    inside = source / "public" if (source / "public").is_dir() else source
    found = public_folders(inside)
    about = About(title, publisher, licence, contact)
    chosen = [found[one] for one in numbers_of_releases(number, list(found))]
    _check_outside(Path(folder), inside)
    return write_package(
        chosen, Path(folder), format=format, about=about, hierarchies=hierarchies, force=force, progress=progress
    )


def hand_out(
    releases: Sequence[Release],
    series: Path,
    target: Path,
    number: Chosen,
    *,
    retracted: Mapping[int, str],
    check: Callable[[int], None],
    format: Format,
    force: bool,
    about: About,
    hierarchies: Hierarchies,
    progress: Callable[[int, int], None],
) -> Exported:
    """Write releases of a series, whose public files are as they were committed."""
    check_text("The folder to export to", target)
    found = {release.number: release.folder for release in releases}
    chosen = numbers_of_releases(number, found, retracted)
    _check_outside(target, series)
    for one in chosen:
        check(one)
    folders = [found[one] for one in chosen]
    return write_package(
        folders, target, format=format, about=about, hierarchies=hierarchies, force=force, progress=progress
    )


def _check_outside(target: Path, source: Path) -> None:
    """Refuse a target among the files that are exported, among those of any series, or in the place of a release."""
    place, source = target.resolve(), source.resolve()
    inside = next((one for one in (place, *place.parents) if Layout.of(one).catalog.is_file()), None)
    if inside is not None and not place.is_relative_to(source):
        raise ParameterError(f"'{target}' lies inside a series.", hint="export to a folder outside it.")
    beside = place.parent in (source, source.parent) and is_release_name(place.name)
    if beside or place.is_relative_to(source):
        raise ParameterError(f"'{target}' lies inside what is exported.", hint="export to a folder outside it.")


def numbers_of_releases(
    chosen: Chosen, present: Collection[int], retracted: Mapping[int, str] | None = None
) -> list[int]:
    """The numbers that are meant, in order; an error where there is no such release, or it must not go out any more."""
    retracted = retracted or {}
    if not present:
        raise ParameterError("The series has no release yet.", hint="reissue publish <series> <table>")
    if chosen is None:
        wanted = [max(present)]
    elif isinstance(chosen, str):
        if chosen != "all":
            raise ParameterError(f"The 'number' parameter of export must be numbers or 'all'. Got {chosen!r} instead.")
        wanted = [one for one in present if one not in retracted]
        if not wanted:
            raise Refused("Every release of the series was retracted: there is nothing to export.")
    else:
        wanted = [chosen] if isinstance(chosen, int) else list(dict.fromkeys(chosen))
    if not wanted:
        raise ParameterError("No release is named.", hint="name one or several, or leave the number out for the last.")
    if unknown := [str(one) for one in wanted if not isinstance(one, int) or one not in present]:
        raise ParameterError(
            f"There is no release {', '.join(unknown)}: there {'is' if len(present) == 1 else 'are'} "
            f"{count_of(len(present), 'release')}."
        )
    if gone := [one for one in wanted if one in retracted]:
        raise Refused(
            "A release that was retracted is not given out any more.",
            problems=[f"release {one} was retracted: {retracted[one]}" for one in gone],
            hint="export another one; `reissue log` lists them.",
        )
    return sorted(wanted)
