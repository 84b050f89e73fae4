"""The attack Channels."""
