"""Promises about the releases of a series together."""
