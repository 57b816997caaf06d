"""Learning to win: positions as features, a small net of whole numbers that says the chance to win, and its training.

In reading order: `features`, `layers` (of the net, as plain loops and as vector code), `net`, `weights` (their files, and
nets as bots, by any rules), `fit` (targets from recorded games, and the net that says the same).
"""
