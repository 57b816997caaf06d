"""Games per second of processor time of some bots, each with itself, classic, 2 players; best of three.

    python examples/speed.py 4000 eager my_bot.py cmd:./my_bot

The time of programs that are started counts as well.
"""

import gc
import os
import sys

import pickosim


def seconds() -> float:
    """Processor time of this process and of the programs that have ended."""
    return sum(os.times()[:4])


games, *bots = sys.argv[1:]
for bot in bots:
    pickosim.play([bot, bot], games=10)
    took = []
    for seed in range(1, 4):
        gc.collect()
        began = seconds()
        pickosim.play([bot, bot], games=int(games), seed=seed)
        gc.collect()
        took.append(seconds() - began)
    print(f"{int(games) / min(took):10,.0f} games/s  {bot}")
