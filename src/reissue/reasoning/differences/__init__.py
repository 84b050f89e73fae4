"""What can be read off releases in which nobody is known by name: classes by themselves, and from one to the next."""
