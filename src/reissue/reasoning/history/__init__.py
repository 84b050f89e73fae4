"""Who was where: groups and people followed from release to release."""
