"""The fit: targets from recorded games, a net fitted to them, and the calibration of its chances.

The fit is by Adam (Kingma and Ba, 2015). Every number is computed in the same order of operations, without functions
that differ between machines: the same targets, start and seed give the same net, to the bit.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from pickosim.engine.kernels import kernel
from pickosim.learning.layers import CAP, FIRST, SECOND
from pickosim.learning.net import CHANCE_ONE, CURVE_BITS, MOST_LOGIT, Parameters, curve


@kernel
def targets_of(
    chance: NDArray[np.float64],
    expected: NDArray[np.float64],
    first: NDArray[np.int64],
    wins: NDArray[np.float64],
    trace: float,
) -> NDArray[np.float32]:
    """(N,): the target for each position after a turn, for the player who has just moved.

    The turns of a game are adjacent, game g from first[g] to first[g + 1]. chance (N,): what the net says after each
    turn; expected (N,): what the solver expected before it, of the player who then moves, NaN if unknown; wins (G, P):
    the win shares by seat. `trace` is λ.

    With two players what one wins the other loses: an error in the rival's turn counts too.
    """
    players = wins.shape[1]
    targets = np.empty(len(chance), np.float32)
    for game in range(len(first) - 1):
        begin, end = first[game], first[game + 1]
        if players == 2:
            carry = 0.0
            targets[end - 1] = wins[game, (end - 1 - begin) % 2]
            for turn in range(end - 2, begin - 1, -1):
                # In turn + 1 the rival moves, for whom this position is worth 1 - chance.
                seat = (turn + 1 - begin) % 2
                after = wins[game, seat] if turn + 1 == end - 1 else chance[turn + 1]
                known = expected[turn + 1]
                better = (after if np.isnan(known) else known) - (1.0 - chance[turn])
                carry = better - trace * carry
                targets[turn] = 1.0 - ((1.0 - chance[turn]) + carry)
            continue
        for turn in range(end - 1, begin - 1, -1):
            seat = (turn - begin) % players
            later = turn + players
            if later >= end:
                targets[turn] = wins[game, seat]
                continue
            after = wins[game, seat] if later == end - 1 else chance[later]
            known = expected[later]
            error = targets[later] - after
            targets[turn] = targets[later] if np.isnan(known) else known + trace * error
    return targets


@kernel
def errors_of(
    chance: NDArray[np.float64],
    expected: NDArray[np.float64],
    first: NDArray[np.int64],
    players: int,
) -> NDArray[np.float64]:
    """(N,): the Bellman error of each position, i.e. how far its chance is from what its player's next turn is expected to
    bring; NaN where that is unknown. With more than two players, rivals move in between, and their luck is in it.
    """
    errors = np.full(len(chance), np.nan)
    for game in range(len(first) - 1):
        for turn in range(first[game], first[game + 1]):
            if players == 2 and turn + 1 < first[game + 1]:
                errors[turn] = 1.0 - expected[turn + 1] - chance[turn]
            elif turn + players < first[game + 1]:
                errors[turn] = expected[turn + players] - chance[turn]
    return errors


BATCH = 2048
"""Positions per step."""

DECAY_1, DECAY_2, LEAST = 0.9, 0.999, 1e-8
"""Adam's constants."""

NEWTON_STEPS = 8
"""Steps of a calibration; each doubles the digits that are right."""

MOST_SCALE, MOST_SHIFT = 2.0, 1.0
"""Limits of a calibration, however few the positions: the scale stays between 1/2 and 2, the shift between -1 and 1."""


def new_parameters(facts: int, seed: int) -> Parameters:
    """A net that has learned nothing: small random weights."""
    chance = np.random.default_rng(seed)

    def spread(width: float, *shape: int) -> NDArray[np.float32]:
        return ((2 * chance.random(shape) - 1) * width * sqrt(3)).astype(np.float32)

    first = spread(0.15, facts, FIRST)
    first[0] = 0
    return Parameters(
        first,
        spread(sqrt(2 / FIRST), FIRST, SECOND),
        np.zeros(SECOND, np.float32),
        spread(sqrt(1 / SECOND), SECOND, 1),
        np.zeros(1, np.float32),
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
        """Go through all positions `epochs` times, the rate falling in a line; returns the mean squared error of the last time."""
        chance, gradient = np.random.default_rng(seed), _zeros_like(self.parameters)
        batches = max(1, len(targets) // BATCH)
        error = 0.0
        for epoch in range(epochs):
            order = chance.permutation(len(targets))
            error = 0.0
            for batch in range(batches):
                rows = order[batch * BATCH : (batch + 1) * BATCH]
                error += _add_gradients(slots, targets, rows, self.parameters, gradient, curve())
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


def calibrated(
    parameters: Parameters, logits: NDArray[np.float64], targets: NDArray[np.float32]
) -> tuple[Parameters, float]:
    """The net with its logits scaled and shifted so that its chances fit the targets; the mean squared error.

    `logits` (n,) are what the net says of n positions. Platt's scaling (1999): the two numbers of least cross entropy, by
    Newton's method. Targets need not lie between 0 and 1; what counts is their mean at each logit.
    """
    scale, shift = 1.0, 0.0
    for _ in range(NEWTON_STEPS):
        by_scale, by_shift, aa, ab, bb, _squares = _slopes(logits, targets, scale, shift, curve())
        size = aa * bb - ab * ab
        if size <= 1e-9 * aa * bb:  # all positions alike
            break
        scale -= (bb * by_scale - ab * by_shift) / size
        inside = 1 / MOST_SCALE < scale < MOST_SCALE
        scale = min(max(scale, 1 / MOST_SCALE), MOST_SCALE)
        shift -= (aa * by_shift - ab * by_scale) / size if inside else by_shift / bb
        shift = min(max(shift, -MOST_SHIFT), MOST_SHIFT)
    error = _slopes(logits, targets, scale, shift, curve())[-1] / len(targets)
    return parameters._replace(
        output=(parameters.output * scale).astype(np.float32),
        output_bias=(parameters.output_bias * scale + shift).astype(np.float32),
    ), error


@kernel
def _slopes(
    logits: NDArray[np.float64],
    targets: NDArray[np.float32],
    scale: float,
    shift: float,
    curve: NDArray[np.int64],
) -> tuple[float, float, float, float, float, float]:
    """Sums over positions: the slopes of the cross entropy by scale and shift, its curvatures, the squared errors."""
    by_scale = by_shift = aa = ab = bb = squares = 0.0
    for k in range(len(logits)):
        chance = _logistic(scale * logits[k] + shift, curve)
        off = chance - targets[k]
        weight = chance * (1 - chance)
        by_scale += off * logits[k]
        by_shift += off
        aa += weight * logits[k] * logits[k]
        ab += weight * logits[k]
        bb += weight
        squares += off * off
    return by_scale, by_shift, aa, ab, bb, squares


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
) -> float:
    """Add the gradients of the mean cross entropy over some rows; returns the sum of squared errors."""
    cap, zero = np.float32(CAP), np.float32(0)
    # Sizes are read from the arrays: loops whose length is a constant do not become vector code.
    first, second = net.second.shape
    sums, hidden = np.empty(first, np.float32), np.empty(second, np.float32)
    of_sums, of_hidden = np.empty(first, np.float32), np.empty(second, np.float32)
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
        logit = net.output_bias[0]
        for y in range(second):
            logit += min(max(hidden[y], zero), cap) * net.output[y, 0]
        off = np.float32(_logistic(logit, curve) - targets[row])
        error += off * off
        off *= scale
        gradient.output_bias[0] += off
        of_sums[:] = zero
        for y in range(second):
            gradient.output[y, 0] += off * min(max(hidden[y], zero), cap)
            of_hidden[y] = off * net.output[y, 0] if zero < hidden[y] < cap else zero
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
def _logistic(logit: float, curve: NDArray[np.int64]) -> float:
    """The logistic function, by the points of `curve`: no library's exponential, which may differ in the last bit."""
    steps = 1 << CURVE_BITS
    along = (
        min(max(np.float64(logit), -float(MOST_LOGIT)), float(MOST_LOGIT)) + MOST_LOGIT
    ) * steps
    point = np.int64(along)
    low, high = float(curve[point]), float(curve[point + 1])
    return (low + (high - low) * (along - point)) / CHANCE_ONE
