"""Releases that other tools made: their cells, their files, and who may be in their groups."""

from __future__ import annotations

from reissue.foreign.reading import Foreign, read_releases

__all__ = ["Foreign", "read_releases"]
