"""Tables in S3: one Parquet object, all of a folder, or those that a glob names, read over the network by polars.

Each object is read once, batch by batch, so that what is in memory is little more than codes, and one batch. Parts go
together as those in files do. Where the store is and who asks stand in the environment, as for every program that
reads S3: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL.

What the store says of a failure may show keys or addresses that were signed, and is not told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import polars as pl

from reissue.errors import TableError, UserError
from reissue.tables.gathered import BATCH, gathered
from reissue.tables.parquet_parts import ENDING, MAGIC, natural, same_columns, schema_of
from reissue.tables.sound_files import check_texts

_ADDRESS = re.compile(r"s3:/+([^/].*)", re.I)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+]+:/")
_FILE = "reissue.file"
Found = TypeVar("Found")


def address_of(path: str | Path) -> str | None:
    """The address in S3 that a path means; None where it is a path. As a path it has lost one of its slashes."""
    found = _ADDRESS.fullmatch(str(path))
    if found is not None:
        return f"s3://{found[1]}"
    scheme = _SCHEME.match(str(path))
    if scheme is None or Path(path).exists():
        return None
    if scheme[0].lower() == "s3:/":
        raise TableError("'s3://' names no bucket.", hint="write s3://bucket/folder/table.parquet.")
    raise TableError(
        f"Tables are not read from '{scheme[0]}/' addresses.",
        hint="give a file, a folder, a pattern, or an address that begins with s3://.",
    )


def read_objects(
    address: str, coded: Collection[str], *, columns: Collection[str] | None = None, without: Collection[str] = ()
) -> pl.DataFrame:
    """The table at an address: all columns or those that are named, but none of those it is wanted without."""
    objects = _objects(address)
    if not objects:  # or none has a row
        return _told(address, lambda: pl.scan_parquet(_pattern(address), hive_partitioning=False).head(0).collect())
    schema = same_columns(address, [(_name(one), 1, _schema(one)) for one in objects])
    wanted = {
        name: type_ for name, type_ in schema.items() if name not in without and (columns is None or name in columns)
    }
    return _told(address, lambda: gathered(_batches(objects, wanted, coded), address, coded))


def _schema(address: str) -> dict[str, pl.DataType]:
    return _told(address, lambda: schema_of(address))


def _batches(objects: list[str], schema: Mapping[str, pl.DataType], coded: Collection[str]) -> Iterator[pl.DataFrame]:
    """All rows, object after object; first none, so that there is a batch where there are no rows."""
    yield pl.DataFrame(schema=schema)
    for address in objects:
        yield from _of_object(address, schema, coded)


def _of_object(address: str, schema: Mapping[str, pl.DataType], coded: Collection[str]) -> Iterator[pl.DataFrame]:
    cells = [pl.col(name).cast(type_) for name, type_ in schema.items()]
    scan = pl.scan_parquet(address, glob=False, hive_partitioning=False).select(cells)
    batches = _told(address, lambda: iter(scan.collect_batches(chunk_size=BATCH)))

    def following() -> pl.DataFrame | None:
        batch = next(batches, None)
        if batch is not None:
            check_texts(batch, coded)
        return batch

    while (batch := _told(address, following)) is not None:
        yield batch


def _objects(address: str) -> list[str]:
    """The objects at an address that have rows, in the order of their names."""
    pattern = _pattern(address)
    if not MAGIC.search(pattern):
        return [pattern]
    scan = pl.scan_parquet(
        pattern,
        include_file_paths=_FILE,
        hive_partitioning=False,
        extra_columns="ignore",
        missing_columns="insert",
    )
    found = _told(address, lambda: scan.group_by(_FILE).len().collect(engine="streaming"))
    return sorted(found[_FILE].to_list(), key=lambda one: natural(Path(one)))


def _pattern(address: str) -> str:
    """What polars is asked for: of a folder the Parquet objects that lie in it."""
    if MAGIC.search(address) or address.lower().endswith(ENDING):
        return address
    return f"{address.rstrip('/')}/*{ENDING}"


def _name(address: str) -> str:
    return address.rpartition("/")[2]


def _told(address: str, read: Callable[[], Found]) -> Found:
    """What is read, or an error in our words."""
    try:
        return read()
    except (UserError, MemoryError):
        raise
    except FileNotFoundError:
        failure = TableError(f"There is no object '{address}'.", hint="check the bucket and the name.")
    except OSError:
        failure = TableError(
            f"'{address}' cannot be read: the store does not answer, or not to whoever asks.",
            hint="check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may read; AWS_REGION and, for a store "
            "of your own, AWS_ENDPOINT_URL; and the network.",
        )
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001  (of bytes that are not sound anything can come)
        if "paths were empty" in str(error):
            failure = TableError(
                f"No object matches '{address}'.",
                hint=f"check the bucket and the names: the parts of a table end in {ENDING}.",
            )
        else:
            failure = TableError(
                f"'{address}' cannot be read as a Parquet table.", hint="check that it is complete, and Parquet."
            )
    raise failure
