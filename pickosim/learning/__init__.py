"""Learning to win: positions as features, a small net of whole numbers that says the chance to win, and its training.

In reading order: `features`, `net`, `weights` (nets as files), `learned` (a bot that plays by a net), `targets` (what
recorded games say about their positions), `fit` (the net that says the same).
"""
