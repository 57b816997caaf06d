"""Reports: results as rich text for a terminal, as charts, and as one HTML page; nothing is printed here.

In reading order: `layout`, `intervals`, `cells` (columns as text); `story` (one game), `rules_text`, `bot_text`,
`odds_text`, `bench_text`; `tournament_text`, `compare_text`, `balance_text`, `calibrate_text`, `result_text` (any run),
`runs_text`; `charts`, `figures` (what a page shows), `notebook`, `html_report`.
"""
