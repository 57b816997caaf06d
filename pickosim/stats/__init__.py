"""Pure statistics: they know nothing about the game.

In reading order: `distributions` (normal, Student's t, binomial), `moments` (means, shares and ratios with intervals), `estimates` (readings of sums over blocks, and
paired differences), `quantiles`, `multiple_testing`, `ratings` (Plackett-Luce), `sprt` (the sequential test).
"""
