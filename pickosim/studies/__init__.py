"""Studies: tournaments, comparisons of rules, balance of specialists, training: from options to games to results.

In reading order. What can be asked: `views` (how tables are shown), `schedule` (who meets whom, with which dice),
`measures`, `options`, `kinds`, `study`. What is played: `arms` (the same dice played in several ways). The studies, each
after what it adds up and shows: `matchup_sums`, `shares` (what orders the standings), `standings`, `tournament`;
`ladder` (fixed ratings), `rank`; `tune`; `variants` (of rules), `compare`; `pickup_worths`, `balance`; `train`; `analyse`;
`calibrate`. Then `experiments` (studies as files).
"""
