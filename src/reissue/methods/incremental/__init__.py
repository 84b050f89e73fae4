"""Incremental l-diversity of a growing table; here is what others need to read what it remembers."""

LISTS = "waiting"
"""The table of who waits, since when, and in which list."""
NO_LIST = -1
"""Where no list is why somebody waits."""
