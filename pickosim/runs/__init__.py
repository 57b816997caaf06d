"""Runs: any study in chunks, by many workers, into a folder that survives interruptions. No bots and no rules here.

In reading order: `sums` (whole numbers, and the files that keep them), `progress` (callbacks), `provenance` (machine,
versions, sources), `orders` (what workers get and send back), `manifest`, `folder`, `results`, `at_worker` (what a Dask
worker does), `cluster` (a Dask cluster), `workers`, `run`.
"""
