"""Wong, Fu, Wang & Pei 2007: minimality."""
