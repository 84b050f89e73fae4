"""Arrays of whole numbers: flat data with the places where each group begins, and exact arithmetic; what is drawn."""
