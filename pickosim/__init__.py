"""pickosim: Monte Carlo tournaments of Pickomino and Extrawurm."""

__version__ = "0.1.0"
