"""HD-composition."""
