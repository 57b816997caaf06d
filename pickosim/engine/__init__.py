"""The engine: batches of games as arrays, and the kernels that play them by the rules.

In reading order: `kernels` (how they and their records are declared), `dice` (rolls and random numbers), `rulebook`
(rules as numbers), `log` (events), `table` (who has what, and every elementary change), `turn` (rolling), `claim` (what a
total may claim, what a result does), `tally` (how games ended), `results` (what each result would do).
"""
