"""The attack Worlds."""
