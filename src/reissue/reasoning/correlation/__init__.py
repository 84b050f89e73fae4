"""Groups of different releases that differ in few people (Riboni & Bettini 2009)."""
