"""What recipients can learn from public files alone, with errors: one file for each step from files to figures."""
