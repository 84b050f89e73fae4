"""The attack Permanence."""
