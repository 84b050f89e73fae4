"""Byun, Sohn, Bertino & Li 2006: incremental l-diversity."""
