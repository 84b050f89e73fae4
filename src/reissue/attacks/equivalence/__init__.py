"""The attack Equivalence."""
