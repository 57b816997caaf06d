"""Studies: tournaments, comparisons of rules, balance of specialists; from sums to tables to findings.

In reading order: `schedule`, `chunk_size`, `table_rows` and `sentences` (parts of tables and findings);
`tournament_sums`, `tournament_tables`, `tournament`;
`measures`, `variants`, `compare_tables`, `compare_findings`, `compare`; `balance_sums`,
`suggest_balance`, `balance_tables`, `balance_findings`, `balance`; `kinds` (all of them by name),
`experiments` (as files), `warm`.
"""
