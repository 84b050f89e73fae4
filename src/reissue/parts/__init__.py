"""Tables that memory would not hold: worked on part by part, by an engine.

`engine` says what an engine does, `local_engine` does it on one machine, `engines` knows them by name. Nothing
publishes with them yet.
"""
