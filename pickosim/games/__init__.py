"""Games: who sits where, every answer checked, whole batches played; as frames, or event by event.

In reading order: `match` (seats, rules, seed), `ask` (a strategy's answers), `game` (a batch), `frames` (results of
`play`), `trace` (one game as events).
"""
