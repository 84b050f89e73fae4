"""Pages: one file each, for a screen and for paper; what is told on them comes from elsewhere."""
