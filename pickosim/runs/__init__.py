"""Runs: any study in chunks, by many workers, into a folder that survives interruptions. No bots and no rules here.

In reading order: `tasks` (what workers get and send back, and the sources they compare), `progress` (callbacks), `folder` (manifest, shards, tables), `workers` (processes, here or of a Dask cluster), `run` (from tasks
to results).
"""
