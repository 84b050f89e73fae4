"""Names of columns over time: what is matched is noted, and what is two columns in one file is never one."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from reissue.errors import TableError
from reissue.foreign.files import ReleaseFiles
from reissue.foreign.headers import folded, matched, renamed
from reissue.foreign.option_texts import names_of, names_text, pair_of, pair_text

NAMES = st.text(st.sampled_from("aAbB12 _-.%é"), min_size=1, max_size=5).filter(lambda name: name.strip() == name)
HEADERS = st.lists(NAMES, min_size=1, max_size=4, unique=True)
ANY_NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(
    lambda one: one.strip()
)


def release(number: int, header: list[str]) -> ReleaseFiles:
    """A release whose cells say which column they were in."""
    return ReleaseFiles(f"r{number}", {"table": pl.DataFrame({name: [name] for name in header})})


@examples(150)
@given(st.lists(HEADERS, min_size=1, max_size=4))
def test_columns_are_never_merged_in_silence(headers: list[list[str]]) -> None:
    files = [release(number, header) for number, header in enumerate(headers, start=1)]
    clash = any(len({folded(name) for name in header}) < len(header) for header in headers)
    try:
        found = matched(files)
    except TableError:
        assert clash
        return
    assert not clash
    told = " ".join(found.notes)
    for before, after in zip(files, found.files, strict=True):
        # No column is lost, none holds another's cells, and a new name is in the notes with the old one.
        old, new = before.tables["table"], after.tables["table"]
        assert new.width == old.width
        for was, now in zip(old.columns, new.columns, strict=True):
            assert new[now][0] == was
            assert folded(was) == folded(now)
            assert was == now or (f"'{was}'" in told and f"'{now}'" in told)
    # What is one column in two files folds alike, and what differs does not become one.
    for one, after in zip(files, found.files, strict=True):
        for other, later in zip(files, found.files, strict=True):
            for was, now in zip(one.tables["table"].columns, after.tables["table"].columns, strict=True):
                for were, then in zip(other.tables["table"].columns, later.tables["table"].columns, strict=True):
                    assert (now == then) == (folded(was) == folded(were))


@examples(100)
@given(NAMES, NAMES)
def test_folding_changes_case_and_signs_alone(one: str, other: str) -> None:
    def plain(name: str) -> str:
        return "".join(sign for sign in name.casefold() if sign not in " _-.")

    if folded(one) == folded(other):
        assert plain(one) == plain(other)
    if plain(one):  # a name of signs alone stays as it is
        assert folded(one) == folded(one.upper()) == folded(one.replace(" ", "_"))


def test_numbers_are_not_run_together() -> None:
    assert folded("v1_2") != folded("v12")
    assert folded("v1_2") == folded("V1-2") == folded("v 1.2")
    assert folded("rate %") != folded("rate")
    assert folded("Row ID") == folded("ROW_ID") == folded("rowId")
    assert folded("_") != folded("-")


def test_accents_are_no_letters() -> None:
    assert folded("Código del país") == folded("CODIGO DEL PAIS") == folded("Co\u0301digo del pai\u0301s")
    assert folded("Straße") == folded("STRASSE")
    # Marks are letters elsewhere.
    assert folded("\u0915\u0947") != folded("\u0915\u0940")
    assert folded("\u0439") != folded("\u0438")


@examples(100)
@given(st.lists(ANY_NAME, max_size=4))
def test_names_as_one_text_and_back(names: list[str]) -> None:
    plain = [name.strip() for name in names]
    assert names_of(names_text(plain)) == plain


@examples(100)
@given(ANY_NAME, ANY_NAME)
def test_pairs_as_one_text_and_back(old: str, new: str) -> None:
    found = pair_of(pair_text(old.strip(), new.strip()))
    assert found is not None
    assert (found[0], names_of(found[1])) == (old.strip(), [new.strip()])


def test_a_column_that_has_its_new_name_is_not_renamed() -> None:
    files = [release(1, ["old", "b"]), release(2, ["new", "b"])]
    assert [one.tables["table"].columns for one in renamed(files, {"OLD": "new"})] == [["new", "b"], ["new", "b"]]
