"""The turn solver: the dice of a turn played best for any pay-off, for bots that only say what results are worth.

In reading order: `graph` (where a turn can stand), `law` (chances of its results), `solve` (the best play), `cache`,
`valuation` (bots that say what results are worth).
"""
