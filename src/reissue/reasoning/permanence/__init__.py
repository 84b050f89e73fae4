"""Values that nobody gets rid of (Bu, Fu, Wong, Chen & Li 2008)."""
