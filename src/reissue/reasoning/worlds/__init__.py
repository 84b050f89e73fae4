"""Possible worlds: who can have which value, and how likely it is."""
