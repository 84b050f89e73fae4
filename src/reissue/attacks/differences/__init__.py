"""What can be read off releases in which nobody is known by name."""
