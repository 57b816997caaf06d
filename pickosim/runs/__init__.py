"""Runs: any study in chunks, by many workers, into a folder that survives interruptions.

In reading order: `sums` (whole numbers, and the files that keep them), `provenance` (machine and versions), `folder`,
`run`, `results`.
"""
