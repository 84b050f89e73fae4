"""Alternatives: everybody is published with m values, one of them true."""
