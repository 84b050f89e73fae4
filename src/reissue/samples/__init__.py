"""Tables to try things on: generated ones, and data sets by name or by path."""
