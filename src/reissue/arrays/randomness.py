"""Randomness that decides what is published: ChaCha20, with a key that the operating system draws.

From what an ordinary generator gave, the rest can be worked out; NumPy's own are no exception. A release shows what was
drawn for it. So its draws come from a cipher: without the key nobody can tell what follows, or came before.

A seed is the key, as a number. The same seed gives the same draws on every machine, so the seed of a release, which is
kept in the ledger, lets it be made again, and must stay as private as the table. One that somebody chose can be
guessed.
"""

from __future__ import annotations

import secrets

import numpy as np

from reissue.errors import ParameterError

GENERATOR = "ChaCha20"
"""The name of the generator, for records: a seed means something only together with it."""
ROUNDS = 20
KEY_BITS = 256


def new_seed() -> int:
    """A seed that nobody can guess, from the operating system."""
    return secrets.randbits(KEY_BITS)


def generator(seed: int) -> np.random.Generator:
    """The generator with this seed as its key.

    Draw from it, in one order whatever the number of cores. What it spawns would have keys that are kept nowhere.
    """
    # It loads all generators of the library, some hundredths of a second that only those pay who draw.
    from randomgen import ChaCha

    return np.random.Generator(ChaCha(key=seed, rounds=ROUNDS))


def check_seed(seed: object, where: str = "") -> None:
    """An error unless it can be a seed; `where` follows the name of the parameter in it, such as " of audit"."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ParameterError(f"The 'seed' parameter{where} must be a whole number of at least 0. Got {seed!r} instead.")
    if seed.bit_length() > KEY_BITS:
        bits = seed.bit_length()
        raise ParameterError(
            f"The 'seed' parameter{where} must be less than 2^{KEY_BITS}. Got a number of {bits:,} bits instead."
        )
