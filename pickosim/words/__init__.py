"""Words: results as rich text for a terminal; nothing is printed here.

`layout` and `intervals` have what all share; the others tell one thing each: `story` (a game), `tournament_words`,
`compare_words`, `balance_words`, `result_words` (any run), `bench_words`, `odds_words`.
"""
