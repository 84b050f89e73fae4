"""Sets of values, one of them true: which sets there are, how probable each is, and how they are drawn."""
