"""The layers of the net in whole numbers: plain loops, and beside them the same as vector code.

The vector code is for x86, where one instruction multiplies int16 numbers and adds them up in pairs. All sums are of
whole numbers that fit, so their order does not matter: both ways and all processors get the same numbers.
`VECTORS` says which way is taken here.
"""

from __future__ import annotations

from collections.abc import Callable
from platform import machine
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import models, overload, register_model
from numpy.typing import NDArray

from pickosim.engine.kernels import operation

VECTORS = machine() in ("x86_64", "AMD64")
"""Whether nets are evaluated by vector code."""

FIRST, SECOND = 64, 32
"""Sizes of the layers."""

CAP = 8.0
"""The highest activation."""

ONE = 1 << 9
"""1.0 as an activation."""

WEIGHT_BITS = 10
"""Weights of the second layer and the output have so many bits after the point."""

LOGIT_ONE = ONE << WEIGHT_BITS
"""1.0 as a logit."""

_MOST = int(CAP * ONE)


class Net(NamedTuple):
    """A net as it plays; K is its number of outputs."""

    facts: NDArray[np.int16]
    """(F, FIRST): the row of each fact; that of fact 0 is zero."""
    second: NDArray[np.int16]
    """(FIRST, SECOND)"""
    second_bias: NDArray[np.int32]
    """(SECOND,)"""
    output: NDArray[np.int16]
    """(SECOND, K)"""
    output_bias: NDArray[np.int32]
    """(K,)"""


def outputs_of(players: int) -> int:
    """Outputs of a net: with two players one says both chances, with more there is one per player."""
    return players if players > 2 else 1


class Arranged(NamedTuple):
    """A net with its numbers in the order in which vector code needs them."""

    facts: NDArray[np.int16]
    """(F, FIRST)"""
    second: NDArray[np.int16]
    """(FIRST / 2, SECOND, 2): inputs in pairs."""
    second_bias: NDArray[np.int32]
    """(SECOND,)"""
    output: NDArray[np.int16]
    """(K, SECOND)"""
    output_bias: NDArray[np.int32]
    """(K,)"""


def arranged(net: Net, vectors: bool = VECTORS) -> Any:
    """The net for kernels, which are compiled for both: a `Net`, or an `Arranged` for vector code."""
    if not vectors:
        return net
    pairs = net.second.reshape(FIRST // 2, 2, SECOND).swapaxes(1, 2)
    return Arranged(
        net.facts,
        np.ascontiguousarray(pairs),
        net.second_bias,
        np.ascontiguousarray(net.output.T),
        net.output_bias,
    )


MASK = 64
"""Features are compared this many at a time: arrays of them have a multiple of it as their length."""


def no_sums(net: Net) -> Any:
    """The sums of the first layer where no fact is true, with room for the second layer."""
    return np.zeros(net.facts.shape[1], np.int32), np.zeros(net.second.shape[1], np.int32)


def moved(net: Net, sums: Any, now: NDArray[np.int16], before: NDArray[np.int16]) -> Any:
    """The sums after the features `before` have become `now`; writes `before`."""
    # Sizes are read from the arrays: loops whose length is a constant do not become vector code.
    first, _ = sums
    for slot in range(len(now)):
        if now[slot] != before[slot]:
            gone, come = np.int64(before[slot]), np.int64(now[slot])
            for x in range(len(first)):
                first[x] += net.facts[come, x] - net.facts[gone, x]
            before[slot] = now[slot]
    return sums


def second_layer(net: Net, sums: Any) -> Any:
    """The activations of the second layer, by the sums of the first."""
    first, second = sums
    for y in range(len(second)):
        second[y] = net.second_bias[y]
    for x in range(len(first)):
        active = min(max(first[x], np.int32(0)), np.int32(_MOST))
        if active:
            for y in range(len(second)):
                second[y] += active * net.second[x, y]
    for y in range(len(second)):
        second[y] = min(max(second[y] >> WEIGHT_BITS, np.int32(0)), np.int32(_MOST))
    return second


def logit(net: Net, second: Any, place: int) -> int:
    """An output, in parts of LOGIT_ONE."""
    total = np.int64(net.output_bias[place])
    for y in range(len(second)):
        total += np.int64(second[y]) * np.int64(net.output[y, place])
    return total  # type: ignore[return-value]


# ------------------------------------------------------------------------------------- vector code


_I16, _I32, _I64 = (ir.IntType(bits) for bits in (16, 32, 64))


class _Sums(types.Type):
    """Numbers of 32 bits, which are kept in registers."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(f"Sums({width})")


@register_model(_Sums)
class _SumsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, sums: _Sums) -> None:
        super().__init__(manager, sums, ir.VectorType(_I32, sums.width))  # type: ignore[no-untyped-call]


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.make_array(kind)(context, builder, value).data


def _function(builder: Any, kind: Any, name: str) -> Any:
    return cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]


def _load(builder: Any, data: Any, begin: Any, count: int) -> Any:
    """`count` numbers of an array from a place on."""
    element = data.type.pointee
    address = builder.bitcast(
        builder.gep(data, [begin]), ir.VectorType(element, count).as_pointer()
    )
    loaded = builder.load(address)
    loaded.align = element.width // 8
    return loaded


def _pick(builder: Any, one: Any, other: Any, places: range | list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(_I32, len(places)), [_I32(place) for place in places])
    return builder.shuffle_vector(one, other, mask)


def _cut(builder: Any, vector: Any) -> Any:
    """Numbers below 0 become 0, those above the highest activation become that."""
    low, high = (ir.Constant(vector.type, [_I32(end)] * vector.type.count) for end in (0, _MOST))
    vector = builder.select(builder.icmp_signed(">", vector, low), vector, low)
    return builder.select(builder.icmp_signed("<", vector, high), vector, high)


def _add_pairs(context: Any, builder: Any, one: Any, other: Any) -> Any:
    """The products of two vectors of int16, added up in pairs, as int32."""
    _, _, features = context.codegen().magic_tuple()
    width, name = 8, "sse2.pmadd.wd"
    for feature, wider, its_name in (
        ("+avx2", 16, "avx2.pmadd.wd"),
        ("+avx512bw", 32, "avx512.pmaddw.d.512"),
    ):
        if feature in features.split(","):
            width, name = wider, its_name
    part, result = ir.VectorType(_I16, width), ir.VectorType(_I32, width // 2)
    kind = ir.FunctionType(result, [part, part])
    function = _function(builder, kind, f"llvm.x86.{name}")
    parts = []
    for begin in range(0, one.type.count, width):
        some = range(begin, begin + width)
        parts.append(builder.call(function, [_pick(builder, v, v, some) for v in (one, other)]))
    while len(parts) > 1:
        size = 2 * parts[0].type.count
        halves = zip(parts[::2], parts[1::2], strict=True)
        parts = [_pick(builder, a, b, range(size)) for a, b in halves]
    return parts[0]


@operation
def _nothing(_: Any) -> Any:
    """FIRST zeros."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return ir.Constant(ir.VectorType(_I32, FIRST), None)

    return _Sums(FIRST)(), emit


@operation
def _differing(_: Any, one: Any, other: Any, begin: Any) -> Any:
    """Set of the places, counted from `begin`, where two arrays differ, among the next MASK."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        a, b = (
            _load(builder, _data(context, builder, kind, value), values[2], MASK)
            for kind, value in zip(signature.args[:2], values[:2], strict=True)
        )
        return builder.bitcast(builder.icmp_signed("!=", a, b), _I64)

    return types.uint64(one, other, types.int64), emit


@operation
def _lowest_bit(_: Any, bits: Any) -> Any:
    """Number of the lowest bit of a set that is not empty."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


@operation
def _with_row(_: Any, sums: Any, table: Any, come: Any, gone: Any) -> Any:
    """The sums with one row of a table more and another less."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows = _data(context, builder, signature.args[1], values[1])
        added, taken = (
            builder.sext(_load(builder, rows, builder.mul(row, _I64(FIRST)), FIRST), values[0].type)
            for row in values[2:]
        )
        return builder.add(values[0], builder.sub(added, taken))

    return sums(sums, table, types.int64, types.int64), emit


@operation
def _second(_: Any, sums: Any, pairs: Any, bias: Any) -> Any:
    """The activations of the second layer."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        weights, start = (
            _data(context, builder, *array)
            for array in zip(signature.args[1:], values[1:], strict=True)
        )
        active = builder.trunc(_cut(builder, values[0]), ir.VectorType(_I16, FIRST))
        active = builder.bitcast(active, ir.VectorType(_I32, FIRST // 2))
        row = ir.VectorType(_I16, 2 * SECOND)
        # Two sums, so that one need not wait for the other.
        nothing = ir.Constant(ir.VectorType(_I32, SECOND), None)
        units = [_load(builder, start, _I64(0), SECOND), nothing]
        for pair in range(FIRST // 2):
            inputs = builder.bitcast(_pick(builder, active, active, [pair] * SECOND), row)
            row_at = _I64(pair * 2 * SECOND)
            products = _add_pairs(
                context, builder, inputs, _load(builder, weights, row_at, 2 * SECOND)
            )
            units[pair % 2] = builder.add(units[pair % 2], products)
        shift = ir.Constant(nothing.type, [_I32(WEIGHT_BITS)] * SECOND)
        return _cut(builder, builder.ashr(builder.add(*units), shift))

    return _Sums(SECOND)(sums, pairs, bias), emit


@operation
def _dot(_: Any, units: Any, weights: Any, row: Any) -> Any:
    """The sum of the products with a row of weights."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows = _data(context, builder, signature.args[1], values[1])
        weight = _load(builder, rows, builder.mul(values[2], _I64(SECOND)), SECOND)
        units = builder.trunc(values[0], weight.type)
        products = _add_pairs(context, builder, units, weight)
        long = ir.VectorType(_I64, SECOND // 2)
        name = f"llvm.vector.reduce.add.v{SECOND // 2}i64"
        add_up = _function(builder, ir.FunctionType(_I64, [long]), name)
        return builder.call(add_up, [builder.sext(products, long)])

    return types.int64(units, weights, types.int64), emit


def _in_vectors(plain: Callable[..., Any]) -> Callable[..., Any]:
    """In kernels, a function takes the place of plain loops where the net is arranged for it."""

    def install(by_vectors: Callable[..., Any]) -> Callable[..., Any]:
        def choose(net: Any, *_: Any) -> Callable[..., Any]:
            return by_vectors if net.instance_class is Arranged else plain

        overload(plain, jit_options={"forceinline": True}, strict=False)(choose)
        return by_vectors

    return install


@_in_vectors(no_sums)
def _no_sums(net: Any) -> Any:
    return _nothing()


@_in_vectors(moved)
def _moved(net: Any, sums: Any, now: Any, before: Any) -> Any:
    for begin in range(0, len(now), MASK):
        slots = _differing(now, before, begin)
        while slots:
            slot = begin + _lowest_bit(slots)
            slots &= slots - np.uint64(1)
            sums = _with_row(sums, net.facts, np.int64(now[slot]), np.int64(before[slot]))
            before[slot] = now[slot]
    return sums


@_in_vectors(second_layer)
def _second_layer(net: Any, sums: Any) -> Any:
    return _second(sums, net.second, net.second_bias)


@_in_vectors(logit)
def _logit(net: Any, second: Any, place: Any) -> Any:
    return np.int64(net.output_bias[place]) + _dot(second, net.output, place)
