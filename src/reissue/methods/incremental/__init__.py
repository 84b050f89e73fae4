"""Incremental l-diversity of a growing table."""
