"""Programs that a pass changes, as text after ``program main``; ``test_legality`` edits them."""

from __future__ import annotations


def unary(operation: str, dtype: str = "f64", inner: str = "neg") -> str:
    return f"""(%x: {dtype}[3]) {{
      %a: {dtype}[3] = {inner} %x
      %b: {dtype}[3] = {operation} %a
      return %b
    }}"""


def with_constant(operation: str, value: str) -> str:
    return f"""(%x: f64[3]) {{
      %c: f64[3] = constant {{dtype=f64, shape=(3,), value={value}}}
      %y: f64[3] = {operation} %x, %c
      return %y
    }}"""


def steps(count: int, *lines: str) -> str:
    """A number of steps; in a line ``@`` is the number of the step, ``>`` the next one, and ``#`` a
    float that is not evenly spaced."""
    made = []
    for k in range(count):
        uneven = repr(float((k * 7) % 5 - 2))
        for line in lines:
            made.append(line.replace("@", str(k)).replace(">", str(k + 1)).replace("#", uneven))
    return "\n".join(made)


def stretch(inputs: str, count: int, *lines: str, output: str) -> str:
    """A program of repeated steps."""
    return "\n".join([f"({inputs}) {{", steps(count, *lines), f"return {output}", "}"])


SUM = stretch(
    "%x: f64[12], %t0: f64[]",
    12,
    "%a@: f64[1] = slice %x {start=(@,), stop=(>,), stride=(1,)}",
    "%b@: f64[] = reshape %a@ {shape=()}",
    "%s@: f64[] = sin %b@",
    "%t>: f64[] = add %t@, %s@",
    output="%t12",
)
WINDOWS = stretch(
    "%x: f64[12], %y0: f64[13]",
    12,
    "%a@: f64[1] = slice %x {start=(@,), stop=(>,), stride=(1,)}",
    "%s@: f64[1] = sin %a@",
    "%y>: f64[13] = update %y@, %s@ {start=(@,), stride=(1,)}",
    output="%y12",
)
CHAIN = stretch(
    "%x: f64[], %t0: f64[]",
    12,
    "%s@: f64[] = sin %t@",
    "%t>: f64[] = mul %s@, %x",
    output="%t12",
)
UNEVEN = stretch(
    "%x: f64[], %t0: f64[]",
    24,
    "%c@: f64[] = constant {dtype=f64, shape=(), value=#}",
    "%s@: f64[] = mul %t@, %c@",
    "%t>: f64[] = add %s@, %x",
    output="%t24",
)


#: A log-sum-exp, in which the cotangent of the maximum is 1 - 1.
SHIFT = """(%0: f64[3]) {
  %1: f64[] = max %0 {axes=(0,)}
  %2: f64[3] = broadcast %1 {dims=(), shape=(3,)}
  %3: bool[3] = eq %0, %2
  %4: f64[3] = convert %3 {dtype=f64}
  %5: f64[] = sum %4 {axes=(0,)}
  %6: f64[3] = broadcast %5 {dims=(), shape=(3,)}
  %7: f64[3] = div %4, %6
  %8: f64[3] = sub %0, %2
  %9: f64[3] = exp %8
  %10: f64[] = sum %9 {axes=(0,)}
  %11: f64[] = constant {dtype=f64, shape=(), value=1.0}
  %c: f64[] = constant {dtype=f64, shape=(), value=1.0}
  %12: f64[] = div %11, %10
  %13: f64[3] = broadcast %12 {dims=(), shape=(3,)}
  %14: f64[3] = mul %13, %9
  %15: f64[3] = neg %14
  %16: f64[] = sum %15 {axes=(0,)}
  %17: f64[] = add %c, %16
  %18: f64[3] = broadcast %17 {dims=(), shape=(3,)}
  %19: f64[3] = mul %18, %7
  %20: f64[3] = add %14, %19
  return %20
}"""

READS = """(%x: f64[9], %c: f64[]) {
  %d: f64[] = scan %x, %c {body=program step(%x: f64[9], %i: i64[], %c: f64[]) {
    %1: i64[] = constant {dtype=i64, shape=(), value=1}
    %j: i64[] = add %i, %1
    %a: f64[] = gather %x, %j {axes=(0,)}
    %d: f64[] = mul %c, %a
    return %d
  }, carries=1, constants=1, length=8, reverse=False}
  return %d
}"""
WRITES = """(%x: f64[9], %y: f64[9]) {
  %z: f64[9] = scan %y, %x {body=program step(%i: i64[], %y: f64[9], %x: f64[]) {
    %1: i64[] = constant {dtype=i64, shape=(), value=1}
    %j: i64[] = mul %i, %1
    %2: f64[9] = scatter %y, %x, %j {axes=(0,)}
    return %2
  }, carries=1, constants=0, length=9, reverse=False}
  return %z
}"""
#: The place is selected by comparing numbers of another dtype.
CHOSEN = """(%x: f64[9], %c: f64[]) {
  %d: f64[] = scan %x, %c {body=program step(%x: f64[9], %i: i64[], %c: f64[]) {
    %3: i64[] = constant {dtype=i64, shape=(), value=3}
    %5: i64[] = constant {dtype=i64, shape=(), value=5}
    %k: i64[] = sub %3, %5
    %b: bool[] = lt %k, %3
    %0: i64[] = constant {dtype=i64, shape=(), value=1}
    %j: i64[] = add %i, %0
    %p: i64[] = select %b, %i, %j
    %a: f64[] = gather %x, %p {axes=(0,)}
    %d: f64[] = mul %c, %a
    return %d
  }, carries=1, constants=1, length=8, reverse=False}
  return %d
}"""

PICK = """(%x: i64[20], %s: i64[], %i: i64[2]) {
  %n: i64[2] = constant {dtype=i64, shape=(2,), value=20}
  %j: i64[2] = remainder %i, %n
  %w: i64[20] = broadcast %s {dims=(), shape=(20,)}
  %y: i64[20] = mul %w, %x
  %r: i64[2] = gather %y, %j {axes=(0,)}
  return %r
}"""

RESTORE = """(%x: f64[40]) {
  %i: i64[6] = iota {axis=0, dtype=i64, shape=(6,)}
  %l: f64[40], %tape: f64[6,40] = scan %x, %i {body=program step(%0: i64[], %1: f64[40], %2: i64[]) {
    %3: f64[] = sum %1 {axes=(0,)}
    %4: f64[40] = scatter %1, %3, %2 {axes=(0,)}
    return %4, %1
  }, carries=1, constants=0, length=6, reverse=False}
  %z: f64[] = constant {dtype=f64, shape=(), value=0.5}
  %r: f64[] = scan %z, %tape {body=program back(%0: i64[], %1: f64[], %2: f64[40]) {
    %4: f64[] = dot %2, %2 {batch=((), ()), contract=((0,), (0,))}
    %5: f64[] = add %1, %4
    return %5
  }, carries=1, constants=0, length=6, reverse=True}
  return %l, %r
}"""  # noqa: E501

PART = """(%x: f64[40]) {
  %i: i64[6] = iota {axis=0, dtype=i64, shape=(6,)}
  %l: f64[40], %tape: f64[6,40] = scan %x, %i {body=program step(%0: i64[], %1: f64[40], %2: i64[]) {
    %3: f64[] = sum %1 {axes=(0,)}
    %4: f64[40] = scatter %1, %3, %2 {axes=(0,)}
    %5: f64[40] = mul %1, %1
    return %4, %5
  }, carries=1, constants=0, length=6, reverse=False}
  %z: f64[] = constant {dtype=f64, shape=(), value=0.5}
  %r: f64[] = scan %z, %tape {body=program back(%0: i64[], %1: f64[], %2: f64[40]) {
    %4: f64[] = dot %2, %2 {batch=((), ()), contract=((0,), (0,))}
    %5: f64[] = add %1, %4
    return %5
  }, carries=1, constants=0, length=6, reverse=True}
  return %l, %r
}"""  # noqa: E501

NESTED = """(%x: f64[40]) {
  %i: i64[6] = iota {axis=0, dtype=i64, shape=(6,)}
  %l: f64[40], %tapes: f64[3,6,40] = scan %i, %x {body=program outer(%i: i64[6], %0: i64[], %x: f64[40]) {
    %l: f64[40], %tape: f64[6,40] = scan %x, %i {body=program step(%0: i64[], %1: f64[40], %2: i64[]) {
      %3: f64[] = sum %1 {axes=(0,)}
      %4: f64[40] = scatter %1, %3, %2 {axes=(0,)}
      return %4, %1
    }, carries=1, constants=0, length=6, reverse=False}
    return %l, %tape
  }, carries=1, constants=1, length=3, reverse=False}
  %z: f64[] = constant {dtype=f64, shape=(), value=0.5}
  %r: f64[] = scan %z, %tapes {body=program outer_back(%0: i64[], %z: f64[], %row: f64[6,40]) {
    %r: f64[] = scan %z, %row {body=program back(%0: i64[], %1: f64[], %2: f64[40]) {
      %4: f64[] = dot %2, %2 {batch=((), ()), contract=((0,), (0,))}
      %5: f64[] = add %1, %4
      return %5
    }, carries=1, constants=0, length=6, reverse=True}
    return %r
  }, carries=1, constants=0, length=3, reverse=True}
  return %l, %r
}"""  # noqa: E501

SEGMENTS = """(%x: f64[4096], %g: f64[4096]) {
  %y: f64[4096], %t: f64[256,4096] = scan %x {body=program step(%i: i64[], %c: f64[4096]) {
    %1: f64[4096] = mul %c, %c
    %2: f64[4096] = sub %c, %1
    return %2, %c
  }, carries=1, constants=0, length=256, reverse=False}
  %h: f64[4096] = scan %g, %t {body=program back(%i: i64[], %g: f64[4096], %c: f64[4096]) {
    %1: f64[4096] = mul %g, %c
    %2: f64[4096] = add %1, %1
    return %2
  }, carries=1, constants=0, length=256, reverse=True}
  return %y, %h
}"""

RECURRENCE = """(%p: f64[], %u: f64[], %t: f64[], %x: f64[160], %g: f64[160]) {
  %v: f64[], %s: f64[] = scan %p, %u, %t, %x, %g {body=program step_transpose(%p: f64[], %i: i64[], %u: f64[], %t: f64[], %x: f64[], %g: f64[]) {
    %1: f64[] = sin %x
    %2: f64[] = mul %p, %1
    %3: f64[] = mul %u, %2
    %4: f64[] = add %3, %g
    %5: f64[] = mul %4, %2
    %6: f64[] = exp %x
    %7: f64[] = mul %u, %6
    %8: f64[] = add %t, %7
    return %5, %8
  }, carries=2, constants=1, derivative=True, length=160, reverse=True}
  return %v, %s
}"""  # noqa: E501

SCALARS = """(%p: i64[3], %y: i64[3]) {
  %z: i64[3] = scan %p, %y {body=program step(%p: i64[3], %i: i64[], %y: i64[3]) {
    %0: i64[1] = slice %y {start=(0,), stop=(1,), stride=(1,)}
    %1: i64[1] = slice %y {start=(1,), stop=(2,), stride=(1,)}
    %2: i64[1] = slice %y {start=(2,), stop=(3,), stride=(1,)}
    %3: i64[1] = mul %0, %1
    %4: i64[3] = concatenate %3, %2, %0 {axis=0}
    %5: i64[3] = mul %4, %p
    return %5
  }, carries=1, constants=1, length=9, reverse=False}
  return %z
}"""

HORNER = """(%t: f64[40], %x: f64[40]) {
  %y: f64[40] = scan %t, %x {body=program step(%1: f64[40], %2: i64[], %3: f64[40]) {
    %5: f64[40] = mul %3, %1
    return %5
  }, carries=1, constants=1, length=12, reverse=False}
  return %y
}"""

#: Eight numbers, the fewest that become an array.
NUMBERS = "\n".join([
    f"({', '.join(f'%n{k}: f64[]' for k in range(1, 9))}) {{",
    *(f"  %m{k}: f64[] = sin %n{k}" for k in range(1, 9)),
    f"  return {', '.join(f'%m{k}' for k in range(1, 9))}",
    "}",
])  # fmt: skip

STORED = """(%c: i64[], %x: f64[9], %v: f64[], %i: i64[]) {
  %y: f64[9] = switch %c, %x, %v, %i {branches=(program a(%0: f64[9], %1: f64[], %2: i64[]) {
    %3: f64[9] = scatter %0, %1, %2 {axes=(0,)}
    return %3
  }, program b(%0: f64[9], %1: f64[], %2: i64[]) {
    %3: f64[] = neg %1
    %4: f64[9] = scatter %0, %3, %2 {axes=(0,)}
    return %4
  })}
  return %y
}"""

PICKED = """(%c: i64[], %x: f64[9], %p: i64[9], %i: i64[]) {
  %y: f64[] = switch %c, %x, %p, %i {branches=(program a(%0: f64[9], %1: i64[9], %2: i64[]) {
    %3: i64[] = add %2, %2
    %4: f64[] = gather %0, %3 {axes=(0,)}
    return %4
  }, program b(%0: f64[9], %1: i64[9], %2: i64[]) {
    %3: i64[] = sum %1 {axes=(0,)}
    %4: f64[] = convert %3 {dtype=f64}
    return %4
  })}
  return %y
}"""

NUMBERS_CHOSEN = """(%c: i64[], %x: f64[], %n: i64[]) {
  %y: f64[], %m: i64[] = switch %c, %x, %n {branches=(program a(%0: f64[], %1: i64[]) {
    %2: f64[] = add %0, %0
    return %2, %1
  }, program b(%0: f64[], %1: i64[]) {
    %2: i64[] = mul %1, %1
    return %0, %2
  })}
  return %y, %m
}"""

STREAM = """(%x: f64[40], %z: f64[]) {
  %i: i64[] = constant {dtype=i64, shape=(), value=1}
  %j: i64[], %l: f64[40], %g: f64[] = while %i, %x, %z {backward=(False, True), carries=(2, 1), condition=program test(%0: i64[], %1: f64[40]) {
    %2: i64[] = constant {dtype=i64, shape=(), value=9}
    %3: bool[] = lt %0, %2
    return %3
  }, constants=0, sweeps=(program step(%0: i64[], %1: f64[40]) {
    %2: f64[] = gather %1, %0 {axes=(0,)}
    %3: f64[] = sin %2
    %4: i64[] = constant {dtype=i64, shape=(), value=1}
    %5: i64[] = add %0, %4
    %6: f64[40] = scatter %1, %3, %5 {axes=(0,)}
    return %5, %6, %1, %0
  }, program back(%0: f64[40], %1: i64[], %2: f64[]) {
    %3: f64[] = gather %0, %1 {axes=(0,)}
    %4: f64[] = mul %2, %3
    return %4
  })}
  return %l, %g
}"""  # noqa: E501

#: The stream is computed from the array.
DOUBLED = STREAM.replace(
    "return %5, %6, %1, %0", "%7: f64[40] = add %1, %1\n    return %5, %6, %7, %0"
)

INNER_LOOP = """(%x: f64[99]) {
  %l: f64[99], %tape: f64[6,99] = scan %x {body=program step(%i: i64[], %a: f64[99]) {
    %z: i64[] = constant {dtype=i64, shape=(), value=0}
    %j: i64[], %b: f64[99] = while %i, %z, %a {backward=(False,), carries=(2,), condition=program test(%0: i64[], %1: i64[], %2: f64[99]) {
      %3: bool[] = lt %1, %0
      return %3
    }, constants=1, sweeps=(program fill(%0: i64[], %1: i64[], %2: f64[99]) {
      %3: f64[] = gather %2, %0 {axes=(0,)}
      %4: f64[] = cos %3
      %5: f64[99] = scatter %2, %4, %1 {axes=(0,)}
      %6: i64[] = constant {dtype=i64, shape=(), value=1}
      %7: i64[] = add %1, %6
      return %7, %5
    },)}
    return %b, %a
  }, carries=1, constants=0, length=6, reverse=False}
  %z: f64[] = constant {dtype=f64, shape=(), value=0.5}
  %r: f64[] = scan %z, %tape {body=program back(%0: i64[], %1: f64[], %2: f64[99]) {
    %4: f64[] = dot %2, %2 {batch=((), ()), contract=((0,), (0,))}
    %5: f64[] = add %1, %4
    return %5
  }, carries=1, constants=0, length=6, reverse=True}
  return %l, %r
}"""  # noqa: E501

ADDED = """(%x: f64[9], %v: f64[4]) {
  %z: f64[9] = constant {dtype=f64, shape=(9,), value=0.0}
  %s: f64[9] = scan %z, %v {body=program step(%0: i64[], %1: f64[9], %2: f64[]) {
    %3: f64[9] = add_at %1, %2, %0 {axes=(0,)}
    %4: f64[9] = broadcast %2 {dims=(), shape=(9,)}
    %5: f64[9] = add %4, %3
    return %5
  }, carries=1, constants=0, length=4, reverse=False}
  %o: f64[9] = sin %x
  %y: f64[9] = add %o, %s
  return %y
}"""

#: A first sweep that only counts.
COUNTED = """(%x: f64[9], %z: f64[]) {
  %n: i64[] = constant {dtype=i64, shape=(), value=7}
  %i: i64[] = constant {dtype=i64, shape=(), value=2}
  %l: i64[] = constant {dtype=i64, shape=(), value=0}
  %a: i64[], %b: i64[], %g: f64[] = while %n, %x, %i, %l, %z {backward=(False, True), carries=(2, 1), condition=program test(%0: i64[], %1: f64[9], %2: i64[], %3: i64[]) {
    %4: bool[] = lt %2, %0
    return %4
  }, constants=2, sweeps=(program step(%0: i64[], %1: f64[9], %2: i64[], %3: i64[]) {
    %one: i64[] = constant {dtype=i64, shape=(), value=1}
    %two: i64[] = constant {dtype=i64, shape=(), value=2}
    %4: i64[] = add %2, %one
    %5: i64[] = add %3, %two
    return %4, %5, %3
  }, program back(%0: i64[], %1: f64[9], %2: i64[], %3: f64[]) {
    %4: f64[] = gather %1, %2 {axes=(0,)}
    %5: f64[] = mul %3, %4
    %6: f64[] = add %5, %4
    return %6
  })}
  return %a, %b, %g
}"""  # noqa: E501

#: An element that is cleared and added back.
CLEARED = """(%x: f64[9], %a: f64[]) {
  %i: i64[] = constant {dtype=i64, shape=(), value=2}
  %j: i64[] = constant {dtype=i64, shape=(), value=5}
  %0: f64[] = constant {dtype=f64, shape=(), value=0.0}
  %g: f64[] = gather %x, %i {axes=(0,)}
  %y: f64[9] = scatter %x, %0, %i {axes=(0,)}
  %b: f64[] = mul %a, %g
  %z: f64[9] = add_at %y, %b, %j {axes=(0,)}
  %w: f64[9] = add_at %z, %g, %i {axes=(0,)}
  return %w
}"""

#: An element that all steps add to, and others that they read and add to.
SUMMED = """(%x: f64[9], %a: f64[9]) {
  %k: i64[] = constant {dtype=i64, shape=(), value=3}
  %n: i64[] = constant {dtype=i64, shape=(), value=9}
  %s: i64[] = constant {dtype=i64, shape=(), value=4}
  %e: i64[], %y: f64[9] = while %n, %k, %a, %s, %x {backward=(False,), carries=(2,), condition=program test(%0: i64[], %1: i64[], %2: f64[9], %3: i64[], %4: f64[9]) {
    %5: bool[] = lt %3, %0
    return %5
  }, constants=3, sweeps=(program step(%0: i64[], %1: i64[], %2: f64[9], %3: i64[], %4: f64[9]) {
    %5: i64[] = constant {dtype=i64, shape=(), value=1}
    %6: f64[] = gather %4, %3 {axes=(0,)}
    %7: f64[] = gather %2, %3 {axes=(0,)}
    %8: f64[] = mul %6, %7
    %9: f64[9] = add_at %4, %8, %1 {axes=(0,)}
    %10: f64[9] = add_at %9, %7, %3 {axes=(0,)}
    %11: i64[] = add %3, %5
    return %11, %10
  },)}
  return %y
}"""  # noqa: E501

#: A loop that reads an array as it was before the loop, and whose result array is unused.
FIRST_READS = """(%x: f64[9], %a: f64[9], %z: f64[]) {
  %s: i64[] = constant {dtype=i64, shape=(), value=0}
  %n: i64[] = constant {dtype=i64, shape=(), value=8}
  %e: i64[], %y: f64[9], %r: f64[] = while %n, %s, %x, %z {backward=(False, True), carries=(2, 1), condition=program test(%0: i64[], %1: i64[], %2: f64[9]) {
    %3: bool[] = lt %1, %0
    return %3
  }, constants=1, sweeps=(program step(%0: i64[], %1: i64[], %2: f64[9]) {
    %3: i64[] = constant {dtype=i64, shape=(), value=1}
    %4: i64[] = add %1, %3
    %5: f64[] = gather %2, %4 {axes=(0,)}
    %6: f64[] = sin %5
    %7: f64[9] = scatter %2, %6, %1 {axes=(0,)}
    %8: f64[] = gather %7, %4 {axes=(0,)}
    return %4, %7, %5, %8
  }, program back(%0: i64[], %1: f64[], %2: f64[], %3: f64[]) {
    %4: f64[] = mul %1, %3
    %5: f64[] = add %4, %2
    return %5
  })}
  return %r, %x
}"""  # noqa: E501

#: A tape of an array that branches change.
BRANCHES_UNDONE = """(%x: f64[40], %w: f64[6]) {
  %l: f64[40], %tape: f64[6,40] = scan %x, %w {body=program step(%0: i64[], %1: f64[40], %2: f64[]) {
    %3: f64[40], %4: f64[] = switch %0, %1, %2, %0 {branches=(program a(%0: f64[40], %1: f64[], %2: i64[]) {
      return %0, %1
    }, program b(%0: f64[40], %1: f64[], %2: i64[]) {
      %3: f64[40] = scatter %0, %1, %2 {axes=(0,)}
      %4: f64[2] = slice %3 {start=(3,), stop=(5,), stride=(1,)}
      %5: f64[2] = mul %4, %4
      %6: f64[40] = update %3, %5 {start=(2,), stride=(1,)}
      return %6, %1
    }, program c(%0: f64[40], %1: f64[], %2: i64[]) {
      %3: f64[40] = add_at %0, %1, %2 {axes=(0,)}
      return %3, %1
    })}
    return %3, %1
  }, carries=1, constants=0, length=6, reverse=False}
  %z: f64[] = constant {dtype=f64, shape=(), value=0.5}
  %r: f64[] = scan %z, %tape {body=program back(%0: i64[], %1: f64[], %2: f64[40]) {
    %4: f64[] = dot %2, %2 {batch=((), ()), contract=((0,), (0,))}
    %5: f64[] = add %1, %4
    return %5
  }, carries=1, constants=0, length=6, reverse=True}
  return %l, %r
}"""  # noqa: E501

#: A tape of an array that an inner loop changes.
ROWS_UNDONE = """(%x: f64[40], %w: f64[6,3]) {
  %l: f64[40], %tape: f64[6,40] = scan %x, %w {body=program step(%0: i64[], %1: f64[40], %2: f64[3]) {
    %3: f64[40] = scan %0, %1, %2 {body=program inner(%0: i64[], %1: i64[], %2: f64[40], %3: f64[]) {
      %4: i64[] = add %0, %1
      %5: f64[] = gather %2, %0 {axes=(0,)}
      %6: f64[] = mul %5, %3
      %7: f64[40] = scatter %2, %6, %4 {axes=(0,)}
      return %7
    }, carries=1, constants=1, length=3, reverse=False}
    return %3, %1
  }, carries=1, constants=0, length=6, reverse=False}
  %z: f64[] = constant {dtype=f64, shape=(), value=0.5}
  %r: f64[] = scan %z, %tape {body=program back(%0: i64[], %1: f64[], %2: f64[40]) {
    %4: f64[] = dot %2, %2 {batch=((), ()), contract=((0,), (0,))}
    %5: f64[] = add %1, %4
    return %5
  }, carries=1, constants=0, length=6, reverse=True}
  return %l, %r
}"""  # noqa: E501

#: A loop in which each step sets an element of its own.
SET = """(%x: f64[8], %y: f64[9], %k: i64[8]) {
  %r: f64[9] = scan %x, %k, %y {body=program body(%x: f64[8], %k: i64[8], %i: i64[], %out: f64[9]) {
    %o: i64[] = constant {dtype=i64, shape=(), value=1}
    %n: i64[] = add %i, %o
    %j: i64[] = gather %k, %i {axes=(0,)}
    %a: f64[] = gather %x, %i {axes=(0,)}
    %b: f64[] = gather %out, %n {axes=(0,)}
    %p: f64[] = mul %a, %b
    %s: f64[9] = scatter %out, %p, %i {axes=(0,)}
    return %s
  }, carries=1, constants=2, length=8, reverse=False}
  return %r
}"""

#: A loop whose steps all add to one element.
ADDED_TO_ONE = """(%x: f64[8], %y: f64[9]) {
  %r: f64[9] = scan %x, %y {body=program body(%x: f64[8], %i: i64[], %out: f64[9]) {
    %j: i64[] = constant {dtype=i64, shape=(), value=3}
    %t: f64[] = gather %out, %j {axes=(0,)}
    %a: f64[] = gather %x, %i {axes=(0,)}
    %u: f64[] = add %t, %a
    %s: f64[9] = scatter %out, %u, %j {axes=(0,)}
    return %s
  }, carries=1, constants=1, length=8, reverse=False}
  return %r
}"""

#: A loop with independent steps.
LOOP = """(%x: f64[12], %s0: f64[]) {
  %r: f64[] = scan %x, %s0 {body=program step(%x: f64[12], %k: i64[], %s: f64[]) {
    %c: i64[] = constant {dtype=i64, shape=(), value=3}
    %i: i64[] = add %k, %c
    %h: bool[] = ge %i, %k
    %j: i64[] = ensure %i, %h {failure='overflow'}
    %a: f64[] = gather %x, %j {axes=(0,)}
    %b: f64[] = gather %x, %k {axes=(0,)}
    %p: f64[] = mul %a, %b
    %t: f64[] = add %s, %p
    return %t
  }, carries=1, constants=1, length=9, reverse=False}
  return %r
}"""

_MASK = """
    %5: i64[128] = iota {axis=0, dtype=i64, shape=(128,)}
    %6: i64[128] = broadcast %1 {dims=(), shape=(128,)}
    %7: bool[128] = ge %5, %6
    %8: bool[128,128] = broadcast %7 {dims=(1,), shape=(128, 128)}
    %9: f64[128,128] = constant {dtype=f64, shape=(128, 128), value=0.0}"""
#: In step i, a row times the columns of a matrix from i on.
EARLY_PRODUCT = f"""(%A: f64[128,128], %v: f64[128], %x: f64[5,128]) {{
  %r: f64[128] = scan %A, %v, %x {{body=program body(%0: f64[128,128], %1: i64[], %2: f64[128], \
%3: f64[128]) {{{_MASK}
    %10: f64[128,128] = select %8, %0, %9
    %11: f64[128] = dot %3, %10 {{batch=((), ()), contract=((0,), (0,))}}
    %12: f64[128] = select %7, %11, %2
    return %12
  }}, carries=1, constants=1, length=5, reverse=False}}
  return %r
}}"""
#: In step i, the columns of a matrix from i on times a vector.
LATE_ROWS = f"""(%A: f64[128,128], %v: f64[128], %x: f64[5,128]) {{
  %w: f64[128], %r: f64[5,128] = scan %A, %v, %x {{body=program body(%0: f64[128,128], %1: i64[], \
%2: f64[128], %3: f64[128]) {{{_MASK}
    %10: f64[128,128] = select %8, %0, %9
    %11: f64[128] = dot %10, %2 {{batch=((), ()), contract=((1,), (0,))}}
    %12: f64[128] = mul %2, %3
    return %12, %11
  }}, carries=1, constants=1, length=5, reverse=False}}
  return %w, %r
}}"""
#: In step i, an outer product is added to the columns from i on.
LATE_SUM = f"""(%k: f64[128,128], %v: f64[128], %x: f64[5,128]) {{
  %s: f64[128,128], %w: f64[128] = scan %k, %v, %x {{body=program body(%1: i64[], \
%0: f64[128,128], %2: f64[128], %3: f64[128]) {{{_MASK}
    %10: f64[128,128] = dot %3, %2 {{batch=((), ()), contract=((), ())}}
    %11: f64[128,128] = select %8, %10, %9
    %12: f64[128,128] = add %0, %11
    %13: f64[128] = mul %2, %3
    return %12, %13
  }}, carries=2, constants=0, length=5, reverse=True}}
  return %s, %w
}}"""
