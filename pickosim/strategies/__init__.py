"""The built-in bots: one file per idea, in the folder `strategies/` of a checkout.

An installed package carries those files in this folder, so that `pickosim.strategies.eager` is
the same module in both.
"""

from pathlib import Path

_checkout = Path(__file__).resolve().parents[2] / "strategies"
if _checkout.is_dir():
    __path__.append(str(_checkout))
