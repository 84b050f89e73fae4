"""Groups of two releases held against each other (Byun, Sohn, Bertino & Li 2006)."""
