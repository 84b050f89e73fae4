"""A series: its policy, the way from a table to a release, and what is kept of it."""
