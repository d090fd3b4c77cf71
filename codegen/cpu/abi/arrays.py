"""Access to Python's arrays in LLVM IR: entries check, create and release arrays with it."""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.llvm import library
from autojit.codegen.cpu.llvm.constants import constant_array
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.ir.core.types import Type, dtype_name

from . import abi

I1, I32, I64, POINTER = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.PointerType()
VOID = ir.VoidType()
_NULL = ir.Constant(POINTER, None)
_ZERO, _ONE = ir.Constant(I64, 0), ir.Constant(I64, 1)

#: object, table, dtype, number of axes, shape
_ARRAY = ir.FunctionType(POINTER, [POINTER, POINTER, POINTER, I64, POINTER])
#: object, table, dtype, number of axes, shape, strides
_STRIDED = ir.FunctionType(POINTER, [POINTER, POINTER, POINTER, I64, POINTER, POINTER])
#: object, table, dtype, type of NumPy's scalars of that dtype
_SCALAR = ir.FunctionType(POINTER, [POINTER] * 4)
#: table, number of axes, shape, number of the dtype, strides or null
_NEW = ir.FunctionType(POINTER, [POINTER, I64, POINTER, I64, POINTER])
#: table, objects, their number
_TUPLE = ir.FunctionType(POINTER, [POINTER, POINTER, I64])
_RELEASE = ir.FunctionType(VOID, [POINTER, POINTER, I64])


def data_of(
    b: ir.IRBuilder, table: ir.Value, object: ir.Value, type: Type, order: abi.Order = None
) -> ir.Value:
    """Return the address of an object's elements, or null if it is no contiguous array of exactly
    this type. With an order of axes, the array's transpose by the order must be contiguous.

    If the type has no axes, the object may also be a NumPy scalar.
    """
    name = dtype_name(type.dtype)
    descr = abi.load(b, table, abi.SLOTS[f"descr_{name}"])
    if not type.shape:
        function = library.plain_function(b.module, "scalar_data", _SCALAR, _write_scalar)
        kind = abi.load(b, table, abi.SLOTS[f"scalar_{name}"])
        return b.call(function, [object, table, descr, kind])
    if order is not None:
        function = library.plain_function(b.module, "strided_data", _STRIDED, _write_strided)
        lists = [constant_array(b.module, numbers) for numbers in abi.in_memory(type, order)]
        return b.call(function, [object, table, descr, ir.Constant(I64, type.ndim), *lists])
    function = library.plain_function(b.module, "array_data", _ARRAY, _write_array)
    shape = constant_array(b.module, type.shape)
    return b.call(function, [object, table, descr, ir.Constant(I64, type.ndim), shape])


def new_array(b: ir.IRBuilder, table: ir.Value, type: Type, order: abi.Order = None) -> ir.Value:
    """Return a new array whose transpose by an order has the type; null if Python has raised."""
    function = library.plain_function(b.module, "new_array", _NEW, _write_new)
    shape, strides = constant_array(b.module, type.shape), _NULL
    if order is not None:
        shape, strides = (constant_array(b.module, n) for n in abi.in_memory(type, order))
    numbers = [ir.Constant(I64, n) for n in (type.ndim, abi.held_as(type.dtype).num)]
    return b.call(function, [table, numbers[0], shape, numbers[1], strides])


def new_tuple(b: ir.IRBuilder, table: ir.Value, objects: ir.Value, count: int) -> ir.Value:
    """Return a tuple of objects; it takes over their references."""
    function = library.plain_function(b.module, "new_tuple", _TUPLE, _write_tuple)
    return b.call(function, [table, objects, ir.Constant(I64, count)])


def release(b: ir.IRBuilder, table: ir.Value, objects: ir.Value, count: int) -> None:
    """Release references to objects; null pointers are skipped."""
    function = library.plain_function(b.module, "release", _RELEASE, _write_release)
    b.call(function, [table, objects, ir.Constant(I64, count)])


# -- the functions ------------------------------------------------------------------


def at(b: ir.IRBuilder, base: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
    """Load a field of an object at an offset in bytes."""
    address = b.gep(base, [ir.Constant(I64, offset)], inbounds=True, source_etype=ir.IntType(8))
    return b.load(address, typ=kind, align=4 if kind is I32 else 8)


def _write_array(function: ir.Function) -> None:
    b = ir.IRBuilder(function.append_basic_block("entry"))
    b.ret(_data(b, *function.args))


def _write_strided(function: ir.Function) -> None:
    b = ir.IRBuilder(function.append_basic_block("entry"))
    object, table, descr, ndim, shape, strides = function.args
    b.ret(_data(b, object, table, descr, ndim, shape, strides))


def _data(
    b: ir.IRBuilder,
    object: ir.Value,
    table: ir.Value,
    descr: ir.Value,
    ndim: ir.Value,
    shape: ir.Value,
    strides: ir.Value | None = None,
) -> ir.Value:
    """Return the address of an array's elements; the function returns null if a check fails.

    Without strides, the elements must be in C order.
    """
    array = abi.load(b, table, abi.SLOTS["ndarray"])
    _require(b, b.icmp_unsigned("==", at(b, object, abi.TYPE_OFFSET, POINTER), array))
    _require(b, b.icmp_unsigned("==", at(b, object, abi.ARRAY_DESCR, POINTER), descr))
    axes = b.zext(at(b, object, abi.ARRAY_NDIM, I32), I64)
    _require(b, b.icmp_unsigned("==", axes, ndim))
    wanted = ir.Constant(I32, abi.REQUIRED_FLAGS if strides is None else abi.ALIGNED_FLAG)
    flags = at(b, object, abi.ARRAY_FLAGS, I32)
    _require(b, b.icmp_unsigned("==", b.and_(flags, wanted), wanted))
    some, done = (b.append_basic_block(name) for name in ("some", "done"))
    b.cbranch(b.icmp_unsigned("==", ndim, _ZERO), done, some)
    b.position_at_end(some)
    own = at(b, object, abi.ARRAY_SHAPE, POINTER)
    with CountedLoop(b, _ZERO, ndim, keep_rolled=True) as axis:
        extents = [b.load(b.gep(p, [axis], source_etype=I64), typ=I64) for p in (own, shape)]
        _require(b, b.icmp_unsigned("==", *extents))
        if strides is not None:
            given = at(b, object, abi.ARRAY_STRIDES, POINTER)
            steps = [b.load(b.gep(p, [axis], source_etype=I64), typ=I64) for p in (given, strides)]
            is_single = b.icmp_unsigned("==", extents[0], _ONE)  # its stride has no meaning
            _require(b, b.or_(is_single, b.icmp_unsigned("==", *steps)))
    b.branch(done)
    b.position_at_end(done)
    data = at(b, object, abi.ARRAY_DATA, POINTER)
    # An array without elements may have no memory.
    return b.select(b.icmp_unsigned("==", data, _NULL), object, data)


def _write_scalar(function: ir.Function) -> None:
    object, table, descr, kind = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    is_scalar = b.icmp_unsigned("==", at(b, object, abi.TYPE_OFFSET, POINTER), kind)
    with b.if_then(is_scalar):
        # A NumPy scalar holds its value right after the header.
        inside = [ir.Constant(I64, abi.HEADER)]
        b.ret(b.gep(object, inside, inbounds=True, source_etype=ir.IntType(8)))
    b.ret(_data(b, object, table, descr, _ZERO, _NULL))


def _require(b: ir.IRBuilder, condition: ir.Value) -> None:
    good, bad = (b.append_basic_block(name) for name in ("good", "bad"))
    b.cbranch(condition, good, bad)
    b.position_at_end(bad)
    b.ret(_NULL)
    b.position_at_end(good)


def _write_new(function: ir.Function) -> None:
    table, ndim, shape, number, strides = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    made = call(
        b, table, "PyArray_New", POINTER,
        abi.load(b, table, abi.SLOTS["ndarray"]), b.trunc(ndim, I32), shape,
        b.trunc(number, I32), strides, _NULL, ir.Constant(I32, 0), ir.Constant(I32, 0), _NULL,
    )  # fmt: skip
    b.ret(made)


def _write_tuple(function: ir.Function) -> None:
    table, objects, count = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    made = call(b, table, "PyTuple_New", POINTER, count)
    _require(b, b.icmp_unsigned("!=", made, _NULL))
    items = b.gep(made, [ir.Constant(I64, abi.TUPLE_ITEMS)], source_etype=ir.IntType(8))
    with _each(b, count) as i:
        object = b.load(b.gep(objects, [i], source_etype=I64), typ=POINTER)
        place = b.gep(items, [i], source_etype=I64)
        b.store(object, place, align=8)
    b.ret(made)


def _write_release(function: ir.Function) -> None:
    table, objects, count = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    with _each(b, count) as i:
        object = b.load(b.gep(objects, [i], source_etype=I64), typ=POINTER)
        with b.if_then(b.icmp_unsigned("!=", object, _NULL)):
            call(b, table, "Py_DecRef", VOID, object)
    b.ret_void()


def _each(b: ir.IRBuilder, count: ir.Value) -> CountedLoop:
    return CountedLoop(b, _ZERO, count, keep_rolled=True)


def call(
    b: ir.IRBuilder, table: ir.Value, name: str, result: ir.Type, *arguments: ir.Value
) -> ir.Value:
    """Call a function of Python or NumPy whose address is in the table."""
    kind = ir.FunctionType(result, [a.type for a in arguments])
    return b.call(abi.load(b, table, abi.SLOTS[name], kind.as_pointer()), arguments)
