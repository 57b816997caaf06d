"""Bots: what a strategy sees and decides, and how a bot is found by name, path, command or entry point.

In reading order: `view` (what a strategy sees of a turn), `strategy` (what it decides, and heuristics for that), `memory`
(what bots have answered, remembered by what they had read), `simple` (bots that decide one game at a time), `digest` (hashes
of source and data files), `guard` (a time limit around a bot's code), `keeper` (ends a program with the process that
started it), `command` (bots that are programs), `loading` (a bot by name, path or object; the bots of a run), `catalogue`
(all available bots).
"""
