"""The attack Mechanism."""
