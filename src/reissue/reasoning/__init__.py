"""Mathematics that guarantees, methods and attacks share."""
