"""The ledger: a series on disk, with its catalog, its private tables and its public files."""

from reissue.ledger.backups import Backup
from reissue.ledger.ledger import Ledger
from reissue.ledger.record import Entry, Event, PolicyVersion, Record
from reissue.ledger.resuming import Resumption
from reissue.ledger.verification import Verification, verify_path
from reissue.ledger.verify import Discrepancy, verify

__all__ = [
    "Backup",
    "Discrepancy",
    "Entry",
    "Event",
    "Ledger",
    "PolicyVersion",
    "Record",
    "Resumption",
    "Verification",
    "verify",
    "verify_path",
]
