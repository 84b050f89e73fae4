"""Hierarchies over the labels of a column."""

from __future__ import annotations

from reissue.model.hierarchy.taxonomy import MISSING, Hierarchy

__all__ = ["MISSING", "Hierarchy"]
