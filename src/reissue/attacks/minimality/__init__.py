"""The attack Minimality."""
