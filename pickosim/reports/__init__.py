"""Reports: results as rich text for a terminal, as charts, and as one HTML page; nothing is printed here.

In reading order: `layout`, `intervals`, `story`, `bot_words`, `tournament_words`, `compare_words`, `balance_words`,
`result_words`, `bench_words`, `odds_words`; `html_tables`, `charts`, `report_content`, `html_report`.
"""
