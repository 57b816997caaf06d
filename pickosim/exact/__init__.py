"""Exact play: the dice of a turn solved for any pay-off, for bots that only say what it is worth.

In reading order: `turn_graph` (where a turn can stand), `turn_law` (chances of its results), `solver` (the best
play), `solution_cache`, `valuation` (bots that say what results are worth).
"""
