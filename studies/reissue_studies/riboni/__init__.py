"""Riboni & Bettini 2009: Cor-Split."""
