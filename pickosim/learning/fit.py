"""The fit: targets from recorded games, and a net fitted to them.

The fit is by Adam (Kingma and Ba, 2015). Every number is computed in the same order of operations, without functions
that differ between machines: the same targets, start and seed give the same net, to the bit.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import kernel
from pickosim.learning.layers import CAP, FIRST, SECOND, outputs_of
from pickosim.learning.net import CHANCE_ONE, CURVE_BITS, MOST_LOGIT, Parameters, curve, exponential


@kernel
def targets_of(
    chance: NDArray[np.float64],
    expected: NDArray[np.float64],
    first: NDArray[np.int64],
    wins: NDArray[np.float64],
    trace: float,
) -> NDArray[np.float64]:
    """(N, P): the target for each position after a turn, by seat.

    The turns of a game are adjacent, game g from first[g] to first[g + 1]. chance (N, P): what the net says after each
    turn, V; expected (N, P): what was to be expected before it, E, NaN if that is unknown; wins (G, P): the win shares.

    T(t) = E(t + 1) + λ (T(t + 1) - V(t + 1)), with `trace` for λ: of what comes, the luck of each turn does not count, and
    errors of the net count the less the later they show.
    """
    targets = np.empty_like(chance)
    for game in range(len(first) - 1):
        last = first[game + 1] - 1
        for seat in range(wins.shape[1]):
            target = wins[game, seat]
            targets[last, seat] = target
            for turn in range(last, first[game], -1):
                after = wins[game, seat] if turn == last else chance[turn, seat]
                before = expected[turn, seat]
                target = (after if np.isnan(before) else before) + trace * (target - after)
                targets[turn - 1, seat] = target
    return targets


def in_turn(by_seat: NDArray[np.float64], seat: NDArray[np.int64]) -> NDArray[np.float64]:
    """(N, P): numbers by seat in the order of turns, from `seat` (N,) on; with -seat the other way round."""
    players = by_seat.shape[1]
    order = (seat[:, None] + np.arange(players)) % players
    return np.take_along_axis(by_seat, order, axis=1)


@kernel
def errors_of(
    chance: NDArray[np.float64], expected: NDArray[np.float64], first: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(N,): the Bellman error of each position, i.e. what the player who has just moved can expect of the next turn, less
    its chance; NaN where that is unknown. chance and expected (N, P) as in `targets_of`.
    """
    errors = np.full(len(chance), np.nan)
    for game in range(len(first) - 1):
        for turn in range(first[game], first[game + 1] - 1):
            seat = (turn - first[game]) % chance.shape[1]
            errors[turn] = expected[turn + 1, seat] - chance[turn, seat]
    return errors


BATCH = 2048
"""Positions per step."""

DECAY_1, DECAY_2, LEAST = 0.9, 0.999, 1e-8
"""Adam's constants."""


def new_parameters(facts: int, players: int, seed: int) -> Parameters:
    """A net that has learned nothing: small random weights."""
    outputs = outputs_of(players)
    chance = np.random.default_rng(seed)

    def spread(width: float, *shape: int) -> NDArray[np.float32]:
        return ((2 * chance.random(shape) - 1) * width * sqrt(3)).astype(np.float32)

    first = spread(0.15, facts, FIRST)
    first[0] = 0
    return Parameters(
        first,
        spread(sqrt(2 / FIRST), FIRST, SECOND),
        np.zeros(SECOND, np.float32),
        spread(sqrt(1 / SECOND), SECOND, outputs),
        np.zeros(outputs, np.float32),
    )


def with_rivals(parameters: Parameters, players: int) -> Parameters:
    """The net with outputs for rivals; if it has none, all rivals win equally often."""
    missing = outputs_of(players) - len(parameters.output_bias)
    return parameters._replace(
        output=np.pad(parameters.output, ((0, 0), (0, missing))),
        output_bias=np.pad(parameters.output_bias, (0, missing)),
    )


class Fit:
    """A net in training, with the moving averages of its gradients."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.steps = 0
        self._mean, self._square = _zeros_like(parameters), _zeros_like(parameters)

    def run(
        self,
        slots: NDArray[np.int16],
        targets: NDArray[np.float32],
        *,
        epochs: int,
        rate: float,
        last_rate: float,
        seed: int,
    ) -> float:
        """Go through all positions `epochs` times, the rate falling in a line; targets (n, K) are by output.

        Returns the mean squared error of the first output, the last time.
        """
        chance, gradient = np.random.default_rng(seed), _zeros_like(self.parameters)
        batches = max(1, len(targets) // BATCH)
        error = 0.0
        for epoch in range(epochs):
            order = chance.permutation(len(targets))
            error = 0.0
            for batch in range(batches):
                rows = order[batch * BATCH : (batch + 1) * BATCH]
                error += _add_gradients(
                    slots, targets, rows, self.parameters, gradient, curve(), exponential()
                )
                done = (epoch * batches + batch) / (epochs * batches)
                self._step(gradient, rate + (last_rate - rate) * done)
        return error / min(len(targets), batches * BATCH)

    def _step(self, gradient: Parameters, rate: float) -> None:
        self.steps += 1
        first, second = 1 / (1 - DECAY_1**self.steps), 1 / (1 - DECAY_2**self.steps)
        rates = np.array([rate, first, second], np.float32)
        for arrays in zip(self.parameters, gradient, self._mean, self._square, strict=True):
            values, slope, mean, square = (array.reshape(-1) for array in arrays)
            _adam(values, slope, mean, square, rates)


def _zeros_like(parameters: Parameters) -> Parameters:
    return Parameters(*(np.zeros_like(array) for array in parameters))


@kernel
def _adam(
    values: NDArray[np.float32],
    gradient: NDArray[np.float32],
    mean: NDArray[np.float32],
    square: NDArray[np.float32],
    rates: NDArray[np.float32],
) -> None:
    """One step against the gradient, which is set to zero; `rates` are that of learning and Adam's two corrections."""
    rate, first, second = rates
    for i in range(len(values)):
        mean[i] = np.float32(DECAY_1) * mean[i] + np.float32(1 - DECAY_1) * gradient[i]
        square[i] = (
            np.float32(DECAY_2) * square[i] + np.float32(1 - DECAY_2) * gradient[i] * gradient[i]
        )
        values[i] -= rate * (mean[i] * first) / (np.sqrt(square[i] * second) + np.float32(LEAST))
        gradient[i] = 0


@kernel
def _add_gradients(
    slots: NDArray[np.int16],
    targets: NDArray[np.float32],
    rows: NDArray[np.int64],
    net: Parameters,
    gradient: Parameters,
    curve: NDArray[np.int64],
    exponential: NDArray[np.int64],
) -> float:
    """Add the gradients of the mean cross entropy over some rows; returns the sum of squared errors of the first output.

    The entropy is that of the first output's chance, and that of who wins otherwise by the other outputs.
    """
    cap, zero = np.float32(CAP), np.float32(0)
    # Sizes are read from the arrays: loops whose length is a constant do not become vector code.
    first, second = net.second.shape
    outputs = len(net.output_bias)
    sums, hidden = np.empty(first, np.float32), np.empty(second, np.float32)
    of_sums, of_hidden = np.empty(first, np.float32), np.empty(second, np.float32)
    off = np.empty(outputs, np.float32)
    across = net.second.T.copy()  # so that inner loops run along rows
    scale = np.float32(1.0 / len(rows))
    error = np.float64(0)
    for row in rows:
        sums[:] = zero
        for slot in range(slots.shape[1]):
            fact = np.int64(slots[row, slot])
            if fact:
                for x in range(first):
                    sums[x] += net.facts[fact, x]
        for y in range(second):
            hidden[y] = net.second_bias[y]
        for x in range(first):
            active = min(max(sums[x], zero), cap)
            if active > zero:
                for y in range(second):
                    hidden[y] += active * net.second[x, y]
        off[:] = net.output_bias
        for y in range(second):
            active = min(max(hidden[y], zero), cap)
            if active > zero:
                for o in range(outputs):
                    off[o] += active * net.output[y, o]
        off[0] = _on_curve(off[0], curve) - targets[row, 0]
        error += off[0] * off[0]
        if outputs > 1:
            most, total, rest = off[1:].max(), zero, zero
            for o in range(1, outputs):
                off[o] = _on_curve(off[o] - most, exponential)
                total += off[o]
                rest += targets[row, o]
            for o in range(1, outputs):
                off[o] = rest * off[o] / total - targets[row, o]
        for o in range(outputs):
            off[o] *= scale
            gradient.output_bias[o] += off[o]
        of_sums[:] = zero
        for y in range(second):
            active, slope = min(max(hidden[y], zero), cap), zero
            for o in range(outputs):
                gradient.output[y, o] += off[o] * active
                slope += off[o] * net.output[y, o]
            of_hidden[y] = slope if zero < hidden[y] < cap else zero
            gradient.second_bias[y] += of_hidden[y]
            if of_hidden[y] != zero:
                for x in range(first):
                    of_sums[x] += of_hidden[y] * across[y, x]
        for x in range(first):
            active = min(max(sums[x], zero), cap)
            if active > zero:
                for y in range(second):
                    gradient.second[x, y] += active * of_hidden[y]
            if not zero < active < cap:
                of_sums[x] = zero
        for slot in range(slots.shape[1]):
            fact = np.int64(slots[row, slot])
            if fact:
                for x in range(first):
                    gradient.facts[fact, x] += of_sums[x]
    return float(error)


@kernel
def _on_curve(logit: float, curve: NDArray[np.int64]) -> float:
    """The chance of a logit, or its power of e if that is the curve: no library's exponential, which may differ in the
    last bit.
    """
    steps = 1 << CURVE_BITS
    along = (
        min(max(np.float64(logit), -float(MOST_LOGIT)), float(MOST_LOGIT)) + MOST_LOGIT
    ) * steps
    point = np.int64(along)
    low, high = float(curve[point]), float(curve[point + 1])
    return (low + (high - low) * (along - point)) / CHANCE_ONE
