"""Random words by key: the blocks that are enciphered, and that nothing is used twice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reissue.errors import InternalError
from reissue.reasoning.alternatives.keyed import Keyed

KEY = bytes(range(32))


def test_the_example_of_the_standard() -> None:
    """FIPS 197, C.3: the block 00112233...ff under the key 000102...1f."""
    person, counter, purpose, version, spell = 0x7766554433221100, 0xAA9988, 0xBB, 0xDDCC, 0xFFEE
    words = Keyed(KEY).words(np.array([person]), spell, version, purpose, 2)(np.array([0]), counter)
    assert words.astype("<u8").tobytes().hex() == "8ea2b7ca516745bfeafc49904b496089"


def test_blocks_by_hand() -> None:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import ECB

    people, spells = np.array([5, 70_000, 1 << 40]), np.array([0, 3, 65_535])
    words = Keyed(KEY).words(people, spells, 7, 2, 5)
    rows, number = np.array([2, 0, 1]), 4
    found = words(rows, number)
    assert found.shape == (3, 6)  # whole blocks
    for row, of_row in zip(rows, found, strict=True):
        plain = b"".join(
            int(people[row]).to_bytes(8, "little")
            + (number * 3 + block).to_bytes(3, "little")
            + (2).to_bytes(1, "little")
            + (7).to_bytes(2, "little")
            + int(spells[row]).to_bytes(2, "little")
            for block in range(3)
        )
        assert of_row.astype("<u8").tobytes() == Cipher(AES256(KEY), ECB()).encryptor().update(plain)


def test_different_people_spells_versions_purposes_and_rounds_have_different_words() -> None:
    seen = set()
    everybody = np.arange(50)
    for spell in (0, 1, 256):
        for version in (0, 1, 256):
            for purpose in (0, 1, 255):
                words = Keyed(KEY).words(everybody, spell, version, purpose, 4)
                for number in (0, 1, 100):
                    seen |= set(words(everybody, number).reshape(-1).tolist())
    assert len(seen) == 50 * 3**4 * 4


def test_another_key_has_other_words() -> None:
    one, other = (Keyed(key).words(np.arange(100), 0, 0, 0, 2)(np.arange(100), 0) for key in (KEY, bytes(32)))
    assert not (one == other).any()


def test_order_and_company_do_not_matter() -> None:
    words = Keyed(KEY).words(np.arange(1_000), np.arange(1_000) % 7, 1, 1, 10)
    rows = np.random.default_rng(1).permutation(1_000)[:50]
    assert (words(rows, 3) == words(np.arange(1_000), 3)[rows]).all()


def test_bits_are_even_and_independent_of_neighbours() -> None:
    """Every bit, and every bit against the same of the next person and of the next spell."""
    count = 20_000
    everybody = np.arange(count)
    now, later = (Keyed(KEY).words(everybody, spell, 0, 0, 2)(everybody, 0) for spell in (0, 1))
    for words in (now, now ^ later, now[1:] ^ now[:-1], now[:, :1] ^ now[:, 1:]):
        for bit in range(64):
            ones = ((words >> np.uint64(bit)) & np.uint64(1)).sum(axis=0)
            assert (np.abs(ones - len(words) / 2) < 5 * math.sqrt(len(words)) / 2).all()


def test_the_key_is_not_shown() -> None:
    keyed = Keyed(KEY)
    assert "1f" not in repr(keyed)
    assert repr(KEY) not in repr(keyed.words(np.arange(2), 0, 0, 0, 2))


@pytest.mark.parametrize("key", [b"", bytes(16), bytes(33), "a" * 32])
def test_a_key_has_32_bytes(key: bytes) -> None:
    with pytest.raises(InternalError, match="32 bytes"):
        Keyed(key)


@pytest.mark.parametrize(("spell", "version", "purpose"), [(1 << 16, 0, 0), (-1, 0, 0), (0, 1 << 16, 0), (0, 0, 256)])
def test_numbers_that_have_no_room(spell: int, version: int, purpose: int) -> None:
    with pytest.raises(InternalError, match="is not from 0 to"):
        Keyed(KEY).words(np.arange(3), spell, version, purpose, 2)


def test_words_do_not_run_out_silently() -> None:
    words = Keyed(KEY).words(np.arange(1), 0, 0, 0, 4)
    words(np.arange(1), (1 << 23) - 1)
    with pytest.raises(InternalError, match="more random words"):
        words(np.arange(1), 1 << 23)
