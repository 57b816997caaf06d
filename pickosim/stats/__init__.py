"""Pure statistics: they know nothing about the game.

In reading order: `distributions` (normal, Student's t, binomial), `intervals` (of means, shares, ratios and quantiles;
paired differences, corrections for many comparisons), `ratings` (Plackett-Luce), `sequential` (tests that stop early).
"""
