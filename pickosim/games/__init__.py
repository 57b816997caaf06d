"""Games: who sits where, every answer checked, whole batches played; as frames, or event by event.

In reading order: `match` (seats, rules, seed), `ask` (a strategy's answers), `batch` (whole batches), `frames` (results
of `play`), `trace` (one game as events), `check` (a bot against the strategy contract).
"""
