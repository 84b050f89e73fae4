"""He, Barman & Naughton 2011: e-equivalence."""
