"""Regions: what quasi-identifiers each group may stand for, in a form in which groups and people can be compared."""

from __future__ import annotations


class Regions:
    """Regions of groups."""
