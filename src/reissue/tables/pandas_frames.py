"""What pandas tables may hold that no table about people has, or that would be lost on the way: said before it is.

pandas keeps anything in a column: text and numbers together, periods, intervals, an id as the index. Every column that
does not fit is named with the types in it, and with what to do; never with what it holds.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from reissue.errors import TableError, count_of, listed

_ONE_TYPE = {
    "string", "integer", "floating", "mixed-integer-float", "boolean", "decimal", "date", "datetime", "datetime64",
    "empty", "categorical",
}  # fmt: skip
"""What pandas calls a column of objects that is of one type, beside missing cells."""
_LISTS = {"list", "tuple", "ndarray"}
_INSTEAD = {
    "period": "its `.dt.to_timestamp()` has dates, its `.astype(str)` text",
    "timedelta": "its `.dt.total_seconds()` has numbers",
    "interval": "its `.astype(str)` has text",
    "bytes": "its `.str.decode('utf-8')` has text",
    "complex": "leave it out",
    "sparse": "its `.sparse.to_dense()` has plain numbers",
}


def check_pandas(table: Any) -> None:
    """Refuse a pandas table that cannot be taken as it is, with all that is in the way."""
    problems = []
    if table.columns.nlevels > 1:
        problems.append(
            f"its columns have names of {table.columns.nlevels} levels; make one of them, for instance with "
            "`frame.columns = ['_'.join(map(str, name)) for name in frame.columns]`"
        )
    elif twice := [name for name, often in Counter(map(str, table.columns)).items() if often > 1]:
        problems.append(f"names that several columns have: {listed(twice)}; rename them")
    else:
        for place, name in enumerate(table.columns):
            if (problem := _problem(table.iloc[:, place])) is not None:
                problems.append(f"column '{name}': {problem}")
    if named := [str(name) for name in table.index.names if name is not None]:
        problems.append(
            f"the index holds {listed(named)}; `reset_index()` makes a column of it, and `reset_index(drop=True)` "
            "leaves it out"
        )
    if problems:
        raise TableError("The pandas table cannot be taken as it is.", problems=problems)


def _problem(column: Any) -> str | None:
    """What is in the way of a column; None where nothing is."""
    from pandas.api.types import infer_dtype

    kind = str(column.dtype).lower()
    for name, instead in _INSTEAD.items():
        if kind.startswith(name):
            return f"holds values of type {name}; {instead}"
    if kind == "category":
        return _problem(column.cat.categories.to_series())
    if kind != "object":
        return None
    found = infer_dtype(column, skipna=True)
    if found in _ONE_TYPE:
        return None
    for name, instead in _INSTEAD.items():
        if found.startswith(name):
            return f"holds values of type {name}; {instead}"
    types = Counter(type(value).__name__ for value in column[column.notna()])
    if set(types) <= _LISTS:
        return None  # as public tables have sets of values
    if len(types) == 1:
        return f"holds values of type {next(iter(types))}; make text or numbers of them, or leave it out"
    told = ", ".join(f"{name} in {count_of(often, 'row')}" for name, often in types.most_common(6))
    return (
        f"holds values of several types ({told}); make it one, best where the table is read: "
        f"`pandas.read_csv(..., dtype={{'{column.name}': str}})`"
    )
