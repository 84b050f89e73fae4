"""Checks before the commit: what looks like a mistake is refused once, until somebody says why it is none."""
