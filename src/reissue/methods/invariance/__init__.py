"""m-invariance, and what the methods that build on it share."""
