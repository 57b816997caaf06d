"""Bots: what a strategy sees, what it is asked, and how one is found by name, path or entry point.

In reading order: `view` (what a strategy sees), `strategy` (what it is asked), `heuristics` (parts that simple bots
share), `loading` (from a name to a bot), `catalogue` (which bots there are), `digest` (of a bot's source), `entrants`
(the bots of a run).
"""
