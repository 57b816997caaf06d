"""Games between bots: matches, checked answers, whole batches; results as frames or as events.

In reading order: `match` (seats, rules, seed), `ask` (a strategy's answers, checked), `judge` (luck and errors of a turn),
`batch` (whole batches), `positions` (tables to play on from), `pickups` (games branched when a specialist is gained),
`played` (results as frames, every position in a recording), `trace` (one game as events), `check` (a bot against the
strategy contract).
"""
