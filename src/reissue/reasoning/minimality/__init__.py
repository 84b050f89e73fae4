"""Why people were generalised at all (Wong, Fu, Wang & Pei 2007)."""
