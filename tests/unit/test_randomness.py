"""Draws that decide what is published: from which generator, and what a seed repeats."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.arrays import randomness
from reissue.arrays.randomness import check_seed, generator, new_seed
from reissue.errors import ParameterError
from reissue.ledger import Ledger
from reissue.publishing.notes import SEED_GIVEN
from reissue.tables.coding import numbered

# RFC 8439, appendix A.1, vectors 1 to 4: the key, the number of the block of 64 bytes, and the block.
VECTORS = [
    (
        bytes(32),
        0,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        bytes(32),
        1,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        bytes(31) + b"\x01",
        1,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    (
        b"\x00\xff" + bytes(30),
        2,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
]


@pytest.mark.parametrize(("key", "block", "stream"), VECTORS)
def test_the_stream_is_that_of_chacha20(key: bytes, block: int, stream: str) -> None:
    words = generator(int.from_bytes(key, "little")).integers(2**64, size=8 * (block + 1), dtype=np.uint64)
    assert words[8 * block :].astype("<u8").tobytes().hex() == stream


def test_numpy_draws_from_the_stream() -> None:
    """What NumPy makes of the words: not another generator behind the same name."""
    words = generator(5).integers(2**64, size=100, dtype=np.uint64)
    assert (generator(5).random(100) == (words >> np.uint64(11)) * 2.0**-53).all()
    assert generator(5).bytes(800) == words.astype("<u8").tobytes()


def test_every_bit_of_the_seed_counts() -> None:
    first = {generator(seed).bytes(32) for seed in (0, *(1 << bit for bit in range(256)))}
    assert len(first) == 257


def test_seeds_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = [new_seed() for _ in range(200)]
    assert len({*seeds}) == 200
    assert max(seed.bit_length() for seed in seeds) == 256
    # Each bit is 0 in some and 1 in others, but once in 2^190 attempts.
    assert all(len({seed >> bit & 1 for seed in seeds}) == 2 for bit in range(256))
    asked: list[int] = []
    monkeypatch.setattr(randomness.secrets, "randbits", lambda bits: asked.append(bits) or 7)
    assert new_seed() == 7
    assert asked == [256]


@pytest.mark.parametrize("wrong", [-1, 1.5, "1", True, None])
def test_seeds_are_whole_numbers(wrong: object) -> None:
    with pytest.raises(ParameterError, match=r"'seed' parameter of audit must be a whole number of at least 0\. Got"):
        check_seed(wrong, " of audit")


def test_seeds_fit_into_a_key(tmp_path: Path, patients: pl.DataFrame, policy: ri.Policy) -> None:
    check_seed(2**256 - 1)
    generator(2**256 - 1).random()
    with pytest.raises(ParameterError, match=r"must be less than 2\^256\. Got a number of 257 bits instead"):
        ri.publish(tmp_path / "series", patients, policy, seed=2**256)
    # Python would not even write out a number as long as this one.
    with pytest.raises(ParameterError, match="of 100,001 bits"):
        check_seed(1 << 100_000)


METHODS: dict[str, Any] = {
    "m-invariance": ri.MInvariance(m=2),
    "e-equivalence": ri.EEquivalence(m=2, e=2),
    "cor-split": ri.CorSplit(m=2, n=2),
    "relaxed": ri.Mondrian(k=4, split="relaxed"),
}


def crowd(people: int = 400) -> pl.DataFrame:
    """People of whom many are alike, so that there is much to draw."""
    return pl.DataFrame(
        {
            "patient": [f"p{n}" for n in range(people)],
            "age": [20 + n % 7 for n in range(people)],
            "sex": ["f" if n % 2 else "m" for n in range(people)],
            "diagnosis": [["flu", "cold", "gout", "ulcer"][n // 3 % 4] for n in range(people)],
        }
    )


def policy_for(method: Any) -> ri.Policy:
    schema = ri.Schema("patient", {"age": ri.Numeric(), "sex": ri.Categorical()}, "diagnosis")
    return ri.Policy(schema, method, series="protected" if method.protects_series else "unprotected")


def tables_and_groups(folder: Path, method: Any, seed: int | None) -> tuple[dict[str, str], str, str]:
    """What was published, who is in which group, and the seed that is kept."""
    release = ri.publish(folder, crowd(), policy_for(method), seed=seed, allow=["few-groups"], reason="so it is here")
    with ri.open(folder) as series:
        members = series.private.members(1).sort("person").write_csv()
    with Ledger.open(folder) as ledger:
        kept = ledger.releases()[0].seed
    return {name: table.write_csv() for name, table in release.tables.items()}, members, kept


@pytest.mark.parametrize("name", METHODS)
def test_what_a_seed_repeats(tmp_path: Path, name: str) -> None:
    method = METHODS[name]
    one, two = (tables_and_groups(tmp_path / str(at), method, None) for at in range(2))
    assert one[1] != two[1]
    assert one[2] != two[2]
    given = [tables_and_groups(tmp_path / f"given {at}", method, 8) for at in range(2)]
    assert given[0] == given[1]
    assert given[0][2] == "8"
    assert tables_and_groups(tmp_path / "other", method, 9)[1] != given[0][1]
    # What the ledger keeps makes the release again, whether the seed was given or drawn.
    assert tables_and_groups(tmp_path / "again", method, int(one[2])) == one
    assert int(one[2]).bit_length() > 128


def test_tables_differ_without_a_seed(tmp_path: Path) -> None:
    """Not only who is in which group: what is public does."""
    found = {str(tables_and_groups(tmp_path / str(at), METHODS["m-invariance"], None)[0]) for at in range(3)}
    assert len(found) == 3


def test_the_number_of_cores_does_not_matter() -> None:
    program = """
import hashlib, sys
import polars as pl
import reissue as ri
from reissue.publishing.rehearsal import Rehearsal
from reissue.samples.census import census
assert pl.thread_pool_size() == int(sys.argv[1])
quasi = {"age": ri.Numeric(), "gender": ri.Categorical(), "education": ri.Categorical()}
schema = ri.Schema("person", quasi, "occupation", drop=["birthplace"])
series = Rehearsal(ri.Policy(schema, ri.CorSplit(m=4, n=4)))
people = census(24_000, seed=1)
for first in (0, 2_000):
    draft = series.publish(people[first : first + 22_000], seed=2**200 + 1)
print(hashlib.sha256("".join(table.write_csv() for table in draft.tables.values()).encode()).hexdigest())
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", program, cores],
            env={**os.environ, "POLARS_MAX_THREADS": cores},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for cores in ("1", "2")
    }
    assert len(found) == 1


def test_a_given_seed_is_recorded_and_noted(tmp_path: Path, patients: pl.DataFrame, policy: ri.Policy) -> None:
    assert "rehearsals and tests only" in SEED_GIVEN
    for seed, given in ((None, False), (0, True), (7, True)):
        folder = tmp_path / f"series {seed}"
        draft = ri.preview(folder, patients, policy, seed=seed)
        ri.publish(folder, patients, policy, seed=seed)
        with ri.open(folder) as series:
            release = series.release(1)
            assert [SEED_GIVEN in notes for notes in (draft.notes, release.summary["notes"])] == [given, given]
            assert release.summary["randomness"] == {"generator": "ChaCha20", "seed_given": given}
            # Public is neither the seed nor that it was given.
            assert "seed" not in (release.folder / "release.json").read_text()


def test_the_order_of_new_people_is_drawn_whatever_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = pl.Series("id", [f"p{n}" for n in range(300)])
    orders = [numbered(np.full(300, -1), ids, 0)[0].tolist() for _ in range(2)]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(300))
    assert orders[0] != orders[1]
    # With a seed of the operating system's, and from the same generator.
    monkeypatch.setattr(randomness.secrets, "randbits", lambda bits: 11)
    numbers, new = numbered(np.full(300, -1), ids, 0)
    assert new.to_list() == [f"p{n}" for n in generator(11).permutation(300).tolist()]
    assert numbers[generator(11).permutation(300)].tolist() == list(range(300))
