"""Pure statistics: they know nothing about the game.

In reading order: `moments` (means, shares and ratios with intervals), `quantiles`, `multiple_testing`, `ratings`
(Plackett-Luce), `sprt` (the sequential test).
"""
