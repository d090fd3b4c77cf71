"""Argsort by radix sort, as functions of the library.

Each word combines half of a number's bits with its index. Three passes over eleven bits each (four
over eight bits for fewer numbers), the lowest bits first, sort the words by that half; words with
equal halves keep their order (D. Knuth, "The Art of Computer Programming", volume 3, 5.2.5,
algorithm R). 64-bit numbers are sorted by their upper half first. The few with equal upper halves
are then sorted among themselves: by insertion, or by more passes over the lower half if they are
many.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.llvm import library
from autojit.codegen.cpu.llvm.counted import CountedLoop
from autojit.codegen.cpu.llvm.scalars import llvm_type
from autojit.codegen.loop_ir.cost import itemsize

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()
VOID = ir.VoidType()

#: Bits of a digit, for many numbers and for fewer, whose counters would cost more than a pass. With
#: eight bits 300 numbers take 2.5 us and 1,000 8.3; with eleven, 10 and 10.6. From 3,000 on both
#: take 7 ns a number.
DIGIT, SHORT_DIGIT = 11, 8
LONG = 2000
_UPPER, _LOWER = 0xFFFFFFFF << 32, 0xFFFFFFFF
#: Up to this many words with equal upper halves are sorted by insertion.
FEW = 64
#: The limit of the number of elements: an index is half of a word.
MOST = 1 << 31

#: words, scratch memory of the same size, number of words
_WORDS = ir.FunctionType(VOID, [POINTER, POINTER, I64])
#: keys, indices, memory for as many words, number of keys
_ARGSORT = ir.FunctionType(VOID, [POINTER, POINTER, POINTER, I64])


def argsort(module: ir.Module, dtype: str, count: int) -> ir.Function:
    """Return ``void argsort(keys, places, memory, n)``, which sorts indices by ascending keys.

    NaN comes last, and equal keys keep their order. The keys are contiguous, ``memory`` has space
    for ``n`` words, and ``0 < n < MOST``. The function is fast for about ``count`` keys.
    """
    digit = DIGIT if count >= LONG else SHORT_DIGIT
    name = f"radix{digit}_{dtype}"
    return library.function(module, name, _ARGSORT, lambda f: _Argsort(f, dtype, digit).write())


def is_sortable(dtype: str, n: int) -> bool:
    """Whether there is such a function for this dtype and this many numbers."""
    return dtype[0] in "iuf" and itemsize(dtype) in (4, 8) and n < MOST


class _Argsort:
    """The argsort of one dtype: sorts words by one half of the bits, then by the other."""

    def __init__(self, function: ir.Function, dtype: str, digit: int) -> None:
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.dtype = dtype
        self.digit = digit
        self.keys, self.places, self.memory, self.n = function.args

    def write(self) -> None:
        wide = itemsize(self.dtype) == 8
        self._fill(_number(0), self.n, upper=True)
        self._sort(_number(0), self.n)
        if wide:
            self._put_right()
        with CountedLoop(self.builder, _number(0), self.n, keep_rolled=True) as i:
            self._store(self.builder.and_(self._word(i), _number(_LOWER)), i)
        self.builder.ret_void()

    def _sort(self, start: ir.Value, stop: ir.Value) -> None:
        b = self.builder
        digit = self.digit
        sort = library.function(
            b.module, f"sort_words{digit}", _WORDS, lambda f: _write_sort(f, digit)
        )
        memory = b.gep(self.memory, [start], source_etype=I64)
        b.call(sort, [self._at(start), memory, b.sub(stop, start)])

    def _fill(self, start: ir.Value, stop: ir.Value, *, upper: bool) -> None:
        """Write words of one half of the bits; for the lower half, words already have indices."""
        b = self.builder
        with CountedLoop(b, start, stop) as i:
            place = i if upper else b.and_(self._word(i), _number(_LOWER))
            bits = self._ordered(place)
            half = b.and_(bits, _number(_UPPER)) if upper else b.shl(bits, _number(32))
            self._store(b.or_(half, place), i)

    def _ordered(self, place: ir.Value) -> ir.Value:
        return ordered(self.builder, self.keys, place, self.dtype)

    def _put_right(self) -> None:
        """Sort words with equal upper halves by their lower halves."""
        b = self.builder
        first, entry = b.append_basic_block("first"), b.block
        b.branch(first)
        b.position_at_end(first)
        start = b.phi(I64)
        start.add_incoming(_number(0), entry)
        upper = b.lshr(self._word(start), _number(32))
        search, next_, found = (b.append_basic_block(n) for n in ("search", "next", "found"))
        b.branch(search)
        b.position_at_end(search)
        last = b.phi(I64)
        last.add_incoming(start, first)
        stop = b.add(last, _number(1))
        b.cbranch(b.icmp_unsigned("<", stop, self.n), next_, found)
        b.position_at_end(next_)
        last.add_incoming(stop, next_)
        alike = b.icmp_unsigned("==", b.lshr(self._word(stop), _number(32)), upper)
        b.cbranch(alike, search, found)
        b.position_at_end(found)
        count = b.sub(stop, start)
        several = b.icmp_unsigned(">", count, _number(1))
        with b.if_then(several), b.if_else(b.icmp_unsigned(">", count, _number(FEW))) as ways:
            many, few = ways
            with many:
                self._fill(start, stop, upper=False)
                self._sort(start, stop)
            with few:
                self._insert(start, stop)
        done = b.append_basic_block("done")
        start.add_incoming(stop, b.block)
        b.cbranch(b.icmp_unsigned("<", stop, self.n), first, done)
        b.position_at_end(done)

    def _insert(self, start: ir.Value, stop: ir.Value) -> None:
        """Sort more than one word by insertion."""
        b = self.builder
        with CountedLoop(b, b.add(start, _number(1)), stop, keep_rolled=True) as i:
            word = self._word(i)
            bits = self._ordered(b.and_(word, _number(_LOWER)))
            before = b.block
            look, moves, right = (b.append_basic_block(n) for n in ("look", "moves", "right"))
            b.branch(look)
            b.position_at_end(look)
            at = b.phi(I64)
            at.add_incoming(i, before)
            left = b.sub(at, _number(1))
            other = self._word(left)
            larger = self._ordered(b.and_(other, _number(_LOWER)))
            b.cbranch(b.icmp_unsigned(">", larger, bits), moves, right)
            b.position_at_end(moves)
            self._store(other, at)
            at.add_incoming(left, moves)
            ends = b.append_basic_block("ends")
            b.cbranch(b.icmp_unsigned(">", left, start), look, ends)
            b.position_at_end(ends)
            b.branch(right)
            b.position_at_end(right)
            free = b.phi(I64)
            free.add_incoming(at, look)
            free.add_incoming(left, ends)
            self._store(word, free)

    # -- words, stored where the indices will be ----------------------------------------

    def _at(self, i: ir.Value) -> ir.Value:
        return self.builder.gep(self.places, [i], inbounds=True, source_etype=I64)

    def _word(self, i: ir.Value) -> ir.Value:
        return self.builder.load(self._at(i), align=8, typ=I64)

    def _store(self, value: ir.Value, i: ir.Value) -> None:
        self.builder.store(value, self._at(i), align=8)


def ordered(b: ir.IRBuilder, keys: ir.Value, place: ir.Value, dtype: str) -> ir.Value:
    """Return bits whose order as an unsigned integer is the order of the numbers.

    For 32-bit numbers they are the upper half.
    """
    size = itemsize(dtype)
    integer = ir.IntType(8 * size)
    address = b.gep(keys, [place], inbounds=True, source_etype=integer)
    bits = b.load(address, align=size, typ=integer)
    sign = ir.Constant(integer, 1 << (8 * size - 1))
    if dtype[0] == "i":
        bits = b.xor(bits, sign)
    elif dtype[0] == "f":
        value = b.bitcast(bits, llvm_type(dtype))
        zero = ir.Constant(llvm_type(dtype), 0.0)
        negative = b.ashr(bits, ir.Constant(integer, 8 * size - 1))
        turned = b.xor(bits, b.or_(negative, sign))
        bits = b.select(b.fcmp_ordered("==", value, zero), sign, turned)
        last = ir.Constant(integer, (1 << (8 * size)) - 1)
        bits = b.select(b.fcmp_unordered("uno", value, value), last, bits)
    if size == 4:
        bits = b.shl(b.zext(bits, I64), _number(32))
    return bits


def _write_sort(function: ir.Function, digit: int) -> None:
    """Write ``void sort_words(words, memory, n)``: a stable sort by upper halves."""
    words, memory, n = function.args
    for argument in (words, memory):
        argument.add_attribute("noalias")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    passes = [_Pass(b, n, digit, number) for number in range(-(-32 // digit))]
    counts = b.alloca(I32, size=len(passes) << digit)
    with CountedLoop(b, _number(0), _number(len(passes) << digit)) as i:
        b.store(ir.Constant(I32, 0), _place(b, counts, i, I32), align=4)
    with CountedLoop(b, _number(0), n, keep_rolled=True) as i:
        word = b.load(_place(b, words, i, I64), align=8, typ=I64)
        for each in passes:
            counter = each.counter(counts, word)
            b.store(b.add(b.load(counter, align=4, typ=I32), ir.Constant(I32, 1)), counter, align=4)
    source, target = words, memory
    for each in passes:
        source, target = each.write(source, target, counts)
    with b.if_then(b.icmp_unsigned("!=", source, words)), CountedLoop(b, _number(0), n) as i:
        word = b.load(_place(b, memory, i, I64), align=8, typ=I64)
        b.store(word, _place(b, words, i, I64), align=8)
    b.ret_void()


class _Pass:
    """A pass over one digit of the upper halves; the last digit has the remaining bits."""

    def __init__(self, builder: ir.IRBuilder, n: ir.Value, digit: int, number: int) -> None:
        self.builder = builder
        self.n = n
        self.shift = 32 + digit * number
        self.digits = 1 << digit
        self.first = number << digit

    def counter(self, counts: ir.Value, word: ir.Value) -> ir.Value:
        """Return the address of the counter of words with the same digit."""
        b = self.builder
        digit = b.and_(b.lshr(word, _number(self.shift)), _number(self.digits - 1))
        return _place(b, counts, b.add(digit, _number(self.first)), I32)

    def write(
        self, source: ir.Value, target: ir.Value, counts: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """Sort the words by the digit, unless all have the same. Return the addresses of the sorted
        words and of the free memory."""
        b = self.builder
        first = b.load(source, align=8, typ=I64)
        of_first = b.load(self.counter(counts, first), align=4, typ=I32)
        differ = b.icmp_unsigned("!=", b.zext(of_first, I64), self.n)
        before = b.block
        moves, after = b.append_basic_block("moves"), b.append_basic_block("after")
        b.cbranch(differ, moves, after)
        b.position_at_end(moves)
        self._sum(counts)
        with CountedLoop(b, _number(0), self.n, keep_rolled=True) as i:
            word = b.load(_place(b, source, i, I64), align=8, typ=I64)
            counter = self.counter(counts, word)
            free = b.load(counter, align=4, typ=I32)
            b.store(b.add(free, ir.Constant(I32, 1)), counter, align=4)
            b.store(word, _place(b, target, b.zext(free, I64), I64), align=8)
        last = b.block
        b.branch(after)
        b.position_at_end(after)
        ends = []
        for old, new in ((source, target), (target, source)):
            end = b.phi(POINTER)
            end.add_incoming(old, before)
            end.add_incoming(new, last)
            ends.append(end)
        return ends[0], ends[1]

    def _sum(self, counts: ir.Value) -> None:
        """Replace the counter of each digit by the number of words with smaller digits."""
        b = self.builder
        digits = CountedLoop(b, _number(0), _number(self.digits), keep_rolled=True)
        with digits as digit:
            total = digits.carry(ir.Constant(I32, 0))
            place = _place(b, counts, b.add(digit, _number(self.first)), I32)
            count = b.load(place, align=4, typ=I32)
            b.store(total, place, align=4)
            total.add_incoming(b.add(total, count), b.block)


def _place(b: ir.IRBuilder, base: ir.Value, i: ir.Value, kind: ir.Type) -> ir.Value:
    return b.gep(base, [i], inbounds=True, source_etype=kind)


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)
