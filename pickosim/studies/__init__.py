"""Studies: tournaments, comparisons of rules, balance of specialists; from sums to tables to findings.

In reading order: `stats`, `ratings`, `sprt` (statistics), `table_rows` and `sentences` (parts of tables and findings);
`block_sums`, `tournament_tables`, `tournament_study`;
`game_measures`, `variants`, `compare_tables`, `compare_findings`, `compare_study`; `balance_sums`,
`suggest_balance`, `balance_tables`, `balance_findings`, `balance_study`; `kinds` (all of them by name),
`experiments` (as files).
"""
