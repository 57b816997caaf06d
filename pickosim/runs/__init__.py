"""Runs: any study in chunks, by many workers, into a folder that survives interruptions.

In reading order: `amounts` (numbers as people write them), `schedule` (who meets whom), `entrants` (bots and their
digests), `sums` (whole numbers, and the files that keep them), `provenance` (machine and versions), `run_folder`,
`run`, `results`, `chunk_size`.
"""
