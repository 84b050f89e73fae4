"""Everything Reissue raises.

    ReissueError
    ├── UserError                 something the caller can put right; the command line exits with 2
    │   ├── ParameterError        a parameter is out of its range (also a ValueError)
    │   ├── PolicyError           a schema or policy that contradicts itself or cannot be read
    │   ├── HierarchyError        a hierarchy that is not a taxonomy, or does not cover a column
    │   ├── TableError            a table that does not fit the policy
    │   │   └── TooLarge          one that would not fit into memory
    │   ├── MissingExtra          an optional package is needed (also an ImportError)
    │   └── SeriesError           the folder of a series
    │       ├── NotASeries        there is no series there
    │       ├── SeriesLocked      another process is writing to it
    │       ├── SeriesDamaged     its files and its catalog disagree; exits with 3
    │       │   └── NotContinued  it does not go on from what is known of it outside
    │       ├── PolicyChanged     the policy given is not the one the series runs under
    │       └── StorageError      the disk is full, read-only or failing (also an OSError)
    ├── Refused                   sound input that must not be published like this; exits with 1
    │   ├── Infeasible            no grouping of this table can satisfy the constraints
    │   ├── Unprotected           the method does not protect a second release
    │   ├── StaleDraft            something was committed after the draft was made
    │   ├── GuaranteeBroken       a draft failed the check of a guarantee its method gave
    │   ├── ChecksFailed          something looks like a mistake, and nobody said that it is none
    │   └── GateClosed            an attack found more than the policy's gate lets pass, or could not rule it out
    └── InternalError             a mistake of ours; please report it

    ReissueWarning                something that people should know, although nothing went wrong

A message has up to four parts: what went wrong, where, why, and the next step. Parameter names, column
names and counts may appear in it. A person's id or a cell value never does, unless the caller asked
for values (`show_values=True`, `--show-values`). Exceptions never carry data in attributes either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from unicodedata import category


class ReissueError(Exception):
    """Base of all errors; `problems` lists every problem found, not only the first."""

    def __init__(self, what: str, *, problems: Iterable[str] = (), hint: str | None = None) -> None:
        self.what = what
        self.problems: tuple[str, ...] = tuple(problems)
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        lines = [self.what, *(f"  - {problem}" for problem in self.problems)]
        if self.hint:
            lines.append(f"Next step: {self.hint}")
        return "\n".join(map(printable, lines))


class ReissueWarning(UserWarning):
    """Something that people should know, although nothing went wrong."""


class UserError(ReissueError):
    """Something the caller can put right."""


class ParameterError(UserError, ValueError):
    """A parameter is out of its range."""


class PolicyError(UserError):
    """A schema or policy that contradicts itself or cannot be read."""


class HierarchyError(UserError):
    """A hierarchy that is not a taxonomy, or does not cover a column."""


class TableError(UserError):
    """A table that does not fit the policy."""


class TooLarge(TableError):
    """A table that would not fit into memory: nothing else is to be tried with it."""


class MissingExtra(UserError, ImportError):
    """An optional package is needed for this."""


class SeriesError(UserError):
    """Something about the folder of a series."""


class NotASeries(SeriesError):
    """There is no series in this folder."""


class SeriesLocked(SeriesError):
    """Another process is writing to the series."""


class SeriesDamaged(SeriesError):
    """The files of a series and its catalog disagree."""


class NotContinued(SeriesDamaged):
    """The series does not go on from what is known of it outside: an older copy, or a changed one."""


class PolicyChanged(SeriesError):
    """The policy given is not the one the series runs under."""


class StorageError(SeriesError, OSError):
    """The disk is full, read-only or failing."""


class Refused(ReissueError):
    """Sound input that must not be published like this."""


class Infeasible(Refused):
    """No grouping of this table can satisfy the constraints."""


class Unprotected(Refused):
    """The method does not protect a second release."""


class StaleDraft(Refused):
    """Something was committed after the draft was made."""


class GuaranteeBroken(Refused):
    """A draft failed the check of a guarantee its method gave."""


class ChecksFailed(Refused):
    """Something looks like a mistake in the table or the policy, and nobody said that it is none."""


class GateClosed(Refused):
    """An attack found more than the policy's gate lets pass, or could not rule it out."""


class InternalError(ReissueError):
    """A mistake of ours; please report it."""


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """`1 row`, `1,200 rows`: numbers as they stand in messages."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Column or parameter names for a message, quoted, shortened when there are many."""
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def printable(text: str) -> str:
    """A text as it may stand on a terminal or a page: what would steer or disguise it is shown escaped.

    Names of files, columns and labels are other people's. ESC and its like can repaint a terminal, a line break can
    forge a line, and what turns the direction of writing round can make one name look like another.
    """
    if text.isprintable():  # nearly always
        return text
    return "".join(char.encode("unicode_escape").decode() if steers(char) else char for char in text)


def steers(char: str) -> bool:
    """Whether a character is none that is seen: a control, a break of lines, a mark of direction, half a pair."""
    return category(char) in _STEERING and char not in _JOINING


_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINING = ("\u200c", "\u200d")
"""They shape letters in the scripts of Persia and India, and emoji."""


def is_text(text: str) -> bool:
    """Whether a text can be written as UTF-8: one with a lone surrogate, half of a pair, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


NOT_TEXT = "text that is not Unicode, such as half of a surrogate pair"
"""What `is_text` is not true of, in messages."""


def check_text(parameter: str, text: object) -> None:
    """Refuse a text, or the path of a file or folder, that cannot be written down: later nobody could say why."""
    if not is_text(str(text)):
        raise ParameterError(f"{parameter} holds {NOT_TEXT}: '{text}'.", hint="give it another name, or other words.")
