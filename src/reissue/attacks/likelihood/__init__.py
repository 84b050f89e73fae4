"""Likelihood: what is likely for whom, learnt from the releases or from elsewhere."""
