"""Cor-Split."""
