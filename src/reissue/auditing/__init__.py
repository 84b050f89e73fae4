"""What an audit is made of.

running     runs the attacks and gathers what they find
limits      how much may be learnt, from a number or from what a method promised
risks       re-identification, presence and attribute disclosure, for each release and for all so far
histories   who has the same history as whom, release after release
exposure    what the worlds leave to guess, person by person and group by group
conclusions what an outsider would conclude from what an attack found
compared    which of that is right, where somebody knows: the private side of one's own series
criteria    singling out, linkability and inference, each with a verdict
report      everything together, in words, as data and as a file
"""
