"""Attacks: what an outsider can work out. Each sees the published view and the adversary's knowledge only."""
