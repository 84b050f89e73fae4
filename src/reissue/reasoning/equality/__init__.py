"""Sets of people who must have the same values (He, Barman & Naughton 2011)."""
