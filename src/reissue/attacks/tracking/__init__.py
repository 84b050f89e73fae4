"""Tracking: what is known of each person at each time."""
