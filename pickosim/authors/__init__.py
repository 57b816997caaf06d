"""For authors of bots: whether a bot keeps to the rules of the house, and what there is to begin with.

In reading order: `conformance` (the check of every bot), `authoring` (the list of bots, a first file).
"""
