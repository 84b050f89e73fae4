"""Random words that only the holder of a key can tell, for any person at any time, in any order: AES-256.

The cipher turns different blocks of 16 bytes into different blocks that nobody without the key can tell from random
ones. So words come from blocks that say whose they are and what for, two words a block:

| bytes | what, lowest byte first |
|---|---|
| 0 to 7 | the number of the person |
| 8 to 10 | a counter: which block of this person, round after round |
| 11 | the purpose, such as sets or coins |
| 12, 13 | the version of the reference |
| 14, 15 | the spell: how many sets this person had before |

Somebody's set must not be drawn from the words of another spell or version: with one set of words for each person,
sets of different values would show what they have in common (posteriors of 0.67 where 0.5 was promised).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Ints, Words
from reissue.errors import InternalError

KEY_BYTES = 32
BLOCK = 16
MOST_BLOCKS = 1 << 24
MOST = 1 << 16
MOST_PURPOSES = 1 << 8


@dataclass(frozen=True)
class Keyed:
    """Random words by key, person, spell, version and purpose."""

    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.key, bytes) or len(self.key) != KEY_BYTES:
            raise InternalError(f"a key has {KEY_BYTES} bytes")

    def words(
        self,
        people: npt.NDArray[np.integer],
        spells: npt.ArrayLike,
        versions: npt.ArrayLike,
        purpose: int,
        width: int,
    ) -> PersonalWords:
        """What `draw` asks for its rows, `width` words a round: row i is person `people[i]` in spell `spells[i]`."""
        spell, version = np.asarray(spells, dtype=np.int64), np.asarray(versions, dtype=np.int64)
        for numbers, most in ((spell, MOST), (version, MOST), (np.asarray(purpose), MOST_PURPOSES)):
            if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < most:
                raise InternalError(f"a spell, version or purpose is not from 0 to {most - 1:,}")
        if width < 1 or (people.size and int(people.min()) < 0):
            raise InternalError("words are for people with numbers from 0, at least one each")
        high = spell.astype(np.uint64) << np.uint64(48) | version.astype(np.uint64) << np.uint64(32)
        high = high | np.uint64(purpose << 24)
        return PersonalWords(self.key, people, np.broadcast_to(high, people.shape), width)


@dataclass(frozen=True)
class PersonalWords:
    """Random words for rows of people; called with rows and a round."""

    key: bytes = field(repr=False)
    people: npt.NDArray[np.integer]
    high: Words
    """The second half of each row's blocks, with a counter of 0."""
    width: int

    def __call__(self, rows: Ints, number: int) -> Words:
        """The words of these rows in this round."""
        # It takes some hundredths of a second to load, which only those pay who draw.
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES256
        from cryptography.hazmat.primitives.ciphers.modes import ECB

        count = (self.width + 1) // 2
        if not rows.size:
            return np.zeros((0, 2 * count), dtype=np.uint64)
        first = number * count
        if first + count > MOST_BLOCKS:
            raise InternalError("somebody needs more random words than there are")
        blocks = np.empty((rows.size, count, 2), dtype="<u8")
        blocks[:, :, 0] = self.people[rows, None]
        blocks[:, :, 1] = self.high[rows, None] | np.arange(first, first + count, dtype=np.uint64)
        words = np.empty(blocks.nbytes + BLOCK - 1, dtype=np.uint8)
        # Blocks are all different, so each is enciphered by itself: this is the mode CTR, at any place.
        encryptor = Cipher(AES256(self.key), ECB()).encryptor()
        encryptor.update_into(blocks.data.cast("B"), words.data)
        return words[: blocks.nbytes].view("<u8").astype(np.uint64, copy=False).reshape(rows.size, 2 * count)
