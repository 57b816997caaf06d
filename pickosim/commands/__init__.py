"""The commands, each of which parses, calls and prints.

In reading order: `terminal` (how they print), `parameters` (what they share), `runs`, `rules`, `bots`.
"""
