"""Studies: tournaments, comparisons of rules, balance of specialists; from options to games to sums to results.

In reading order: `views` (how tables are shown). What can be asked: `schedule`, `seating` (who sat where), `measures`, `variants` (of rules), `options`,
`balance_options`, `kinds`, `study`. What is played: `arms` (the
same dice played in several ways), `holders` (of specialists), `sentences`. The studies, each as sums, results and the
study itself: `tournament_sums`, `tournament_results`, `tournament`; `ladder` (fixed ratings), `rank`; `compare_sums`,
`compare_findings`, `compare_results`, `compare`; `pickup_worths`, `balance_findings`,
`balance`; `train_lessons` (games to learn from), `train`; `calibrate`. Then `experiments` (studies as files), `stored` (runs read back) and `warm` (kernels made ready).
"""
