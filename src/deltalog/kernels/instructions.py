"""Pieces of LLVM code for what `kernels.memory` says in Python. Whoever imports this loads Numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import event
from numba.extending import intrinsic

from deltalog.kernels.compilations import COMPILATIONS, Compilations

__all__ = ["njit"]

event.Listener.register(Compilations)
event.register("numba:compile", COMPILATIONS)


def _pointer(builder: Any, address: Any, bits: int) -> Any:
    return builder.inttoptr(address, ir.IntType(bits).as_pointer())


def _element(builder: Any, address: Any, index: Any) -> Any:
    return _pointer(builder, builder.add(address, builder.shl(index, ir.Constant(ir.IntType(64), 3))), 64)


@intrinsic
def load8(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.load(_pointer(builder, arguments[0], 8), align=1), ir.IntType(64))

    return types.int64(types.int64), generate


@intrinsic
def load64(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(builder, arguments[0], 64), align=1)

    return types.uint64(types.int64), generate


@intrinsic
def store8(typing_context: Any, address: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = builder.trunc(arguments[1], ir.IntType(8))
        builder.store(byte, _pointer(builder, arguments[0], 8), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def get(typing_context: Any, address: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_element(builder, *arguments), align=8)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def put(typing_context: Any, address: Any, index: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _element(builder, *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def real_of(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def bits_of(typing_context: Any, real: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate
