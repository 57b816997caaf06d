"""The turn solver: the best way to play the dice of a turn, for any pay-off of its results.

In reading order: `graph` (the states of a turn), `law` (the chances of its results), `solve` (the best play),
`valuation` (bots that only say what a position is worth), `rolling` (their turns).
"""
