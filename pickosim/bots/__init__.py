"""Bots: what a strategy sees and decides, and how a bot is found by name, path, command or entry point.

In reading order: `table_view` (the table in many games), `view` (what a strategy sees of a turn), `strategy` (what it
decides), `heuristics` (parts that simple bots share), `plain` (a turn in plain values), `simple` (bots that decide one
game at a time), `cell_code` (the code of a class in a notebook), `digest` (hashes of source and data files), `guard` (a
time limit around a bot's code), `given` (bots as Python objects), `keeper` (ends a program with the process that wants
it), `program` (a program that answers lines with lines), `command` (bots that are programs), `specs` (the parts of a
bot's spec), `loading` (a bot by name or path), `catalogue` (all available bots), `entrants` (the bots of a run).
"""
