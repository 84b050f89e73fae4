"""Promises about every group of every release by itself."""
