"""Studies: tournaments, comparisons of rules, balance of specialists, training: from options to games to results.

In reading order. What can be asked: `views` (how tables are shown), `schedule` (who meets whom, with which dice),
`measures`, `variants` (of rules), `options`, `kinds`, `study`. What is played: `arms` (the same dice
played in several ways), `sentences`. The studies, each as sums, results, findings and the study itself: `matchup_sums`,
`standings`, `tournament_findings`, `tournament`; `ladder` (fixed ratings), `rank`; `compare_results`,
`compare_findings`, `compare`; `pickup_worths`, `balance_findings`, `balance`; `train_lessons` (games to learn from),
`train`; `calibrate`. Then `experiments` (studies as files), `stored` (runs read back) and `warm` (kernels made ready).
"""
