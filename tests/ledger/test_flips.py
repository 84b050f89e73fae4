"""One bit flips, or a file loses its end, anywhere in a series or its anchor.

The next publication is then either harmless, which is shown (its public files are those that come without the damage,
to the byte), or refused, with the file named, nothing private quoted, and the series left as it was.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random

import breakin_story as story
import pytest
from breakin_story import Scene
from profiles import seeds

import reissue as ri
from reissue.errors import InternalError, NotContinued, PolicyChanged, ReissueError, SeriesError, StorageError
from reissue.ledger import verify
from reissue.ledger.verification import verify_path

FLIPS, CUTS = 50, 5
"""So many for each seed: 200 and 20 in the quick run, 2,000 and 200 in the thorough one."""
PAGE = 4096
HEADER = 100
"""The first bytes of a database, of which each says something about all others."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("flips"))


def place(random: Random, scene: Scene) -> tuple[Path, int]:
    """A file and a place in it; half of them in the catalog, and there mostly where something is written."""
    catalog = scene.folder / "private" / "catalog.sqlite"
    path = catalog if random.random() < 0.5 else random.choice(list(scene.before))
    content = scene.before[path]
    if not content:
        return path, 0
    if path == catalog and random.random() < 0.1:
        return path, random.randrange(HEADER)
    at = random.randrange(len(content))
    while path == catalog and content[at] == 0 and random.random() < 0.9:
        at = random.randrange(len(content))
    return path, at


def flipped(random: Random, scene: Scene) -> tuple[Path, bytes, str]:
    path, at = place(random, scene)
    content, bit = scene.before[path], random.randrange(8)
    changed = bytes([(content[at] if content else 0) ^ 1 << bit])
    return path, content[:at] + changed + content[at + 1 :], f"bit {bit} of byte {at}"


def cut(random: Random, scene: Scene) -> tuple[Path, bytes, str]:
    path, at = place(random, scene)
    return path, scene.before[path][:at], f"cut at {at}"


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_harmless_or_refused(seed: int, scene: Scene) -> None:
    random, outcomes = Random(seed), []
    for damaged in [flipped] * FLIPS + [cut] * CUTS:
        scene.restore()
        path, content, how = damaged(random, scene)
        path.write_bytes(content)
        outcomes.append(outcome(scene, path, f"{scene.shown(path)}, {how}"))
    scene.restore()
    assert set(outcomes) == {"harmless", "refused"}


def worse(random: Random, content: bytes) -> tuple[bytes, str]:
    """A catalog as a failing disk leaves it: a stretch of zeros or of anything, two pages exchanged, many bits."""
    changed, at, size = bytearray(content), random.randrange(len(content)), random.choice([1, 8, 64, 512, PAGE])
    kind = random.choice(["zeros", "anything", "pages", "bits"])
    if kind == "zeros":
        changed[at : at + size] = bytes(len(content[at : at + size]))
    elif kind == "anything":
        changed[at : at + size] = random.randbytes(len(content[at : at + size]))
    elif kind == "pages":
        one, other = (PAGE * random.randrange(len(content) // PAGE) for _ in range(2))
        changed[one : one + PAGE], changed[other : other + PAGE] = (
            content[other : other + PAGE],
            content[one : one + PAGE],
        )
    else:
        for _ in range(20):
            changed[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return bytes(changed), f"{kind} at {at}, {size} long"


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_a_catalog_in_pieces(seed: int, scene: Scene) -> None:
    """Whoever reads, verifies, copies or publishes gets an answer, whatever is left of the catalog."""
    random, catalog, refused = Random(seed), scene.folder / "private" / "catalog.sqlite", 0
    for _ in range(10):
        scene.restore()
        content, how = worse(random, scene.before[catalog])
        catalog.write_bytes(content)
        for read in (verify_path, looked_at, copied):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    read(scene.folder)
            except ReissueError as error:
                assert not isinstance(error, InternalError), how
                assert "CANARY" not in str(error), how
            except BaseException as error:
                raise AssertionError(f"{how}: {read.__name__}: {error!r}") from error
        refused += attempt(scene, story.NEXT, how) is not None
    scene.restore()
    assert refused


def looked_at(folder: Path) -> None:
    with ri.open(folder) as series:
        assert series.releases and series.policies() and series.head
        series.published()


def copied(folder: Path) -> None:
    ri.backup(folder, folder.parent.parent / "backup", force=True)


def outcome(scene: Scene, path: Path, where: str) -> str:
    damaged = scene.bytes()
    found = findings(scene, where)
    refusal = attempt(scene, story.NEXT, where)
    if refusal is None:
        # What is wrong may be in something that only a later release goes on from.
        refusal = attempt(scene, story.NEXT + 1, where)
        if refusal is None:
            return "harmless"
    else:
        assert scene.bytes() == damaged, f"{where}: refused, and changed something"
    own = scene.shown(path)
    assert isinstance(refusal, SeriesError), f"{where}: {refusal!r}"
    assert own in str(refusal) or (own == "private/catalog.sqlite" and "(catalog " in str(refusal)), (
        f"{where}: {refusal}"
    )
    # Of a database that says it must not be written to, SQLite finds nothing wrong in reading.
    if not isinstance(refusal, NotContinued | PolicyChanged | StorageError):
        assert any(own in one for one in found), f"{where}: refused, and verify found {found}"
    return "refused"


def findings(scene: Scene, where: str) -> list[str]:
    """What verify says; that it cannot be read at all is an answer too."""
    try:
        found = [str(one) for one in verify(scene.folder)]
    except ReissueError as error:
        found = [str(error).replace("(catalog ", "private/catalog.sqlite (")]
    assert "CANARY" not in " ".join(found), where
    return found


def attempt(scene: Scene, number: int, where: str) -> ReissueError | None:
    """Publish the table of a month: None if it went well, and as it would without the damage."""
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            story.published(scene.folder, number)
    except ReissueError as error:
        assert "CANARY" not in f"{error} {[str(one.message) for one in said]}", where
        return error
    except BaseException as error:
        raise AssertionError(f"{where}: {error!r}") from error
    found = story.files_under(scene.folder / "public" / f"{number:04}")
    assert found == scene.sound[number - story.NEXT], f"{where}: published something else"
    return None
