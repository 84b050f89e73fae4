"""The attack Correlation."""
