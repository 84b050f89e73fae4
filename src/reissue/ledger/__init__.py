"""The ledger: a series on disk, with its catalog, its private tables and its public files."""

from reissue.ledger.ledger import Ledger
from reissue.ledger.record import Entry, Event, PolicyVersion, Record
from reissue.ledger.verify import Discrepancy, verify

__all__ = ["Discrepancy", "Entry", "Event", "Ledger", "PolicyVersion", "Record", "verify"]
