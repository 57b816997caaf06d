"""Compiles what most tests use, once, before several processes would each do it for themselves: `make test` begins with it."""

from tempfile import TemporaryDirectory

import pickosim
from pickosim.games.batch import warm_up

if __name__ == "__main__":
    warm_up()
    pickosim.play(["champion", "expected"], "extrawurm-box", games=4)  # the solver, the net
    with TemporaryDirectory() as folder:
        pickosim.analyse("expected", games=20, workers=1, out=f"{folder}/run")  # the judge
