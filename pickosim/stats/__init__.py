"""Pure statistics: they know nothing about the game.

In reading order: `distributions` (normal, Student's t, binomial), `moments` (means, shares and ratios with intervals,
paired differences, corrections for many comparisons), `quantiles`, `ratings` (Plackett-Luce), `sprt` (the sequential test).
"""
