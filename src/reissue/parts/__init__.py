"""Tables that memory would not hold: worked on part by part, by an engine.

`engine` says what an engine does, `local_engine` does it on one machine, `engines` knows them by name. What the rest of
the folder does with them: `coding_in_parts` codes a table, `people_in_parts` numbers its people, and `sorted_in_parts`
sorts. Each gives what the same step in memory gives, however the table is cut.
"""
