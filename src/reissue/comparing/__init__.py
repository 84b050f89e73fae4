"""Comparing: the same series under every method that fits, rehearsed, measured and attacked; and which one to take.

Nothing is published. Everything here looks at private tables, and so do its figures: they are for the publisher.
"""
