"""Vectors for kernels: LANES numbers that are computed side by side.

LLVM's own vectorisers do not keep sums in registers across loops of varying length, so kernels say what
they mean. Every operation is rounded on its own as IEEE 754 prescribes: no fast-math flags are set, so LLVM
may neither reorder sums nor fuse a product with a sum, and a lane has the same bits on any machine,
whatever its registers hold. (Compiled with the kernels that use it, see `pickosim.engine.kernels`.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic, models, register_jitable, register_model
from numpy.typing import NDArray

LANES = 64
"""Numbers per vector: several registers full, so that loops cost little and the next sum need not wait for the last."""

CACHE_LINE = 64
"""Bytes. Loading a register takes longer if its numbers lie in two lines."""


@register_jitable
def aligned(size: int, like: NDArray[Any]) -> NDArray[Any]:
    """(size,): an array of the type of another, not filled, that begins at a cache line."""
    space = np.empty(size + CACHE_LINE // like.itemsize, like.dtype)
    over = np.int64(space.ctypes.data) % CACHE_LINE
    begin = (CACHE_LINE - over) // like.itemsize
    return space[begin : begin + size]


class _Vector(types.Type):
    """LANES numbers of an array's type."""

    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(f"Vector({element}, {LANES})")


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: _Vector) -> None:
        super().__init__(manager, vector, _llvm_type(vector))  # type: ignore[no-untyped-call]


def _llvm_type(vector: _Vector) -> Any:
    element = ir.FloatType() if vector.element == types.float32 else ir.DoubleType()
    return ir.VectorType(element, LANES)


def _operation(function: Any) -> Any:
    """Declare an operation: given the types of its arguments, it returns its type and how it is compiled."""
    return intrinsic(function)


def _address(context: Any, builder: Any, kind: Any, values: Any, vector: Any) -> Any:
    """The address of LANES numbers of an array from a place on."""
    data = context.make_array(kind)(context, builder, values[0]).data
    return builder.bitcast(builder.gep(data, [values[1]]), _llvm_type(vector).as_pointer())


@_operation
def load(_: Any, array: Any, place: Any) -> Any:
    """The LANES numbers of a flat array from a place on."""
    vector = _Vector(array.dtype)

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _address(context, builder, signature.args[0], values, vector)
        loaded = builder.load(address)
        loaded.align = vector.element.bitwidth // 8
        return loaded

    return vector(array, place), emit


@_operation
def store(_: Any, array: Any, place: Any, vector: Any) -> Any:
    """Write a vector to a flat array from a place on."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _address(context, builder, signature.args[0], values, vector)
        stored = builder.store(values[2], address)
        stored.align = vector.element.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, place, vector), emit


@_operation
def larger(_: Any, one: Any, other: Any) -> Any:
    """The larger of two numbers, in every lane."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *values), *values)

    return one(one, other), emit


@_operation
def plus(_: Any, one: Any, other: Any) -> Any:
    """The sum of two numbers, in every lane."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(*values)

    return one(one, other), emit


@_operation
def times(_: Any, vector: Any, number: Any) -> Any:
    """Every lane times the same number, which must be of the vector's type."""
    assert number == vector.element

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = _llvm_type(vector)
        undefined = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(undefined, values[1], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
        return builder.fmul(values[0], builder.shuffle_vector(first, undefined, zeros))

    return vector(vector, number), emit


@_operation
def prefetch(_: Any, array: Any, place: Any) -> Any:
    """Have a number of a flat array fetched from memory, without waiting for it."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(data, [values[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        # To read, into all caches, data.
        builder.call(fetch, [address, *(ir.Constant(number, n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, place), emit
