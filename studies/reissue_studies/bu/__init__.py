"""Bu, Fu, Wong, Chen & Li 2008: HD-composition."""
