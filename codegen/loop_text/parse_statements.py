"""Parses the statements of one kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Begin,
    Fill,
    Loop,
    RunTasks,
    ScatterInto,
    Store,
    Tasks,
)
from autojit.codegen.loop_ir.sequences import (
    MANY,
    Branch,
    Keep,
    Recall,
    Release,
    Repeat,
    Steps,
    Swap,
)
from autojit.codegen.loop_ir.traversal import buffers_of
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Trips
from autojit.codegen.loop_ir.vocabulary import COMBINES, SYMBOLS, dtype_of_value
from autojit.ir.core.affine import Var

from .parse_calls import Calls
from .parse_scalars import Scalars
from .tokens import Token, Tokens

#: The names of combinations, by the mark before the "=".
_COMBINES = {SYMBOLS.get(name, name): name for name in COMBINES}
_ACCUMULATOR = re.compile(r"a\d+")
_SCALAR = re.compile(r"s\d+")
_ROLES = {"reduces": "reduce", "in turn": "sequence"}
#: What the stage `vectors` reports about a loop.
_LANES = re.compile(r"vectors of \d+|scalar code")


class Statements:
    """Parses the statements of a kernel, which has names of its own."""

    def __init__(
        self, tokens: Tokens, buffer: Callable[[], Buffer], numbers: Iterator[int]
    ) -> None:
        self.tokens = tokens
        self.buffer = buffer
        self.accumulators: dict[str, Accumulator] = {}
        self.begun: dict[str, Token] = {}
        self.scalars = Scalars(tokens, buffer, numbers, self.accumulator)
        self.calls = Calls(tokens, buffer, self.scalars)
        self.trips: list[Trips] = []
        self.blocks: dict[str, Callable[[], Any]] = {
            "for": self.loop, "repeat": self.repeat, "if": self.branch, "keep": self.keep,
            "recall": self.recall, "free": self.free, "swap": self.swap,
        }  # fmt: skip

    def finish(self) -> None:
        """Settle what depends on several lines, when all lines are parsed."""
        self.scalars.order_variables()
        for name, token in self.begun.items():
            if not self.accumulators[name].combine:
                words = f"nothing is added to {name}: write how it combines, `{name} = 0.0 by add`"
                self.tokens.fail(words, token)

    def body(self) -> list[Any]:
        """Parse statements to the end of their block."""
        found = []
        while self.tokens.next.kind not in ("dedent", "end") and not self.tokens.is_at("while"):
            found.append(self.statement())
        return found

    def block(self) -> list[Any]:
        """Parse a colon, and the statements on the deeper lines after it."""
        self.tokens.mark(":")
        return self.lines()

    def lines(self) -> list[Any]:
        t = self.tokens
        t.end_line()
        if t.next.kind != "indent":
            return []
        t.take("indent", "statements")
        body = self.body()
        t.take("dedent", "the end of the block")
        return body

    def statement(self) -> Any:
        t = self.tokens
        special = self.blocks.get(t.next.text)
        if special is not None and not t.is_at("=", 1) and not t.is_at("[", 1):
            t.at += 1
            return special()
        if t.in_line("@", "{"):
            return self.library_call()
        made = self.assignment()
        t.end_line()
        return made

    def library_call(self) -> Any:
        made = self.calls.call()
        self.tokens.end_line()
        self.scalars.order_variables()
        return made

    def assignment(self) -> Any:
        t = self.tokens
        if t.is_at("[", 1):
            return self.to_memory()
        token = t.take("word", "a statement")
        if _ACCUMULATOR.fullmatch(token.text):
            return self.to_accumulator(token)
        if _SCALAR.fullmatch(token.text):
            dtype = t.take("word", "a dtype").text if t.has(":") else None
            t.mark("=")
            return self.scalars.definition(token, dtype)
        t.fail("expected a statement: a scalar (s0 = …), an accumulator (a0 += …), a place in "
               f"memory (x[i] = …), a loop or a call, got {token.text}", token)  # fmt: skip

    # -- memory and accumulators ------------------------------------------------

    def to_memory(self) -> Any:
        t = self.tokens
        buffer = self.buffer()
        t.mark("[")
        index, places = self.scalars.place()
        if t.has(":"):
            t.mark("+")
            count = t.integer("how many scalars are filled")
            t.mark("]", "=")
            return Fill(buffer, index, count, self.scalars.literal())
        t.mark("]")
        combine = self.combine()
        value = self.scalars.use()
        if places:
            return ScatterInto(buffer, index, places, combine, value)
        if combine == "set":
            return Store(buffer, index, value)
        return AccumulateInto(buffer, index, combine, value)

    def combine(self) -> str:
        """Parse the mark before the value: ``=``, ``+=`` or ``maximum=``."""
        t = self.tokens
        if t.has("="):
            return "set"
        token = t.next
        name = _COMBINES.get(token.text)
        if name is None:
            t.fail(f"expected '=', '+=' or 'maximum=', got {token.text or 'the end of the line'}")
        t.at += 1
        t.mark("=")
        return name

    def to_accumulator(self, token: Token) -> Begin | Accumulate:
        t = self.tokens
        dtype = t.take("word", "a dtype").text if t.has(":") else None
        if not t.is_at("="):
            accumulator = self.accumulator(token)
            combine = self.combine()
            if accumulator.combine not in ("", combine):
                t.fail(f"{token.text} is combined by {accumulator.combine} elsewhere", token)
            accumulator.combine = combine
            return Accumulate(accumulator, self.scalars.use())
        t.mark("=")
        value = self.scalars.literal()
        dtype = dtype or dtype_of_value(value)
        made = Accumulator(int(token.text[1:]), dtype, "", value)
        if t.has("by"):
            made.combine = t.take("word", "how values are combined").text
            if made.combine not in COMBINES:
                t.fail(f"expected one of {', '.join(COMBINES)}", t.all[t.at - 1])
        known = self.accumulators.setdefault(token.text, made)
        if (known.dtype, repr(known.identity)) != (dtype, repr(value)):
            t.fail(f"{token.text} began with another value elsewhere", token)
        self.begun.setdefault(token.text, token)
        return Begin(known)

    def accumulator(self, token: Token) -> Accumulator:
        if token.text not in self.accumulators:
            self.tokens.fail(f"{token.text} is not begun before this line", token)
        return self.accumulators[token.text]

    # -- loops ------------------------------------------------------------------

    def loop(self) -> Any:
        t = self.tokens
        if t.has("task"):
            return self.run_tasks()
        if t.has_words("each", "of", "the", "steps"):
            return self.steps()
        token = t.take("word", "a loop variable")
        t.word("in")
        start = t.integer("where the loop starts")
        t.mark("..")
        stop = t.integer("where the loop stops")
        extent = t.integer("the range of the variable") if t.has("of") else 0
        var = self.scalars.variable(token, extent, stop)
        made = Loop(var, start, stop, [], "map")
        while t.has(","):
            if t.has("share"):
                made.share = self.scalars.known_variable()
            elif t.has("from"):
                made.lower = self.scalars.use()
            elif t.has("below"):
                made.upper = self.scalars.use()
            else:
                t.word("only")
                made.only = self.scalars.use()
        t.mark(":")
        while t.next.kind == "remark":
            self.remark(made)
        made.body = self.lines()
        return made

    def remark(self, loop: Loop) -> None:
        """Parse how iterations depend on each other, and how the loop is compiled."""
        token = self.tokens.take("remark", "a remark")
        words = token.text.removeprefix("#").strip()
        if words in _ROLES:
            loop.role = _ROLES[words]
        elif words == "unrolled":
            loop.unroll = True
        elif words == "outlined":
            loop.outlined = True
        elif not _LANES.fullmatch(words):
            self.tokens.fail(
                "only # reduces, # in turn, # unrolled and # outlined may follow a loop; a "
                "comment needs a line of its own", token,
            )  # fmt: skip

    def run_tasks(self) -> RunTasks:
        t = self.tokens
        token = t.take("word", "the variable of the tasks")
        t.word("in")
        if t.integer() != 0:
            t.fail("tasks are numbered from 0 on", t.all[t.at - 1])
        t.mark("..")
        count = t.integer("how many tasks there are")
        t.mark(",")
        t.word("in", "threads")
        measured = t.has_words("if", "that", "is", "faster")
        var = self.scalars.variable(token, count, count)
        body = self.block()
        return RunTasks(Tasks(var, count, body, buffers_of(body), measured))

    def repeat(self) -> Repeat:
        t = self.tokens
        t.mark(",")
        t.word("steps")
        step = self.step_variable()
        tapes = []
        if t.has(","):
            t.word("tapes")
            tapes = self.named()
        trips = Trips()
        self.trips.append(trips)
        t.mark(":")
        t.end_line()
        t.take("indent", "the condition of the loop")
        condition = self.body()
        t.word("while")
        test = self.scalars.use()
        body = self.block()
        t.take("dedent", "the end of the loop")
        return Repeat(step, condition, test, body, tapes, trips)

    def steps(self) -> Steps:
        t = self.tokens
        step = self.step_variable()
        trips = self.counted()
        backward = t.has(",")
        if backward:
            t.word("the", "last", "first")
        return Steps(step, trips, backward, self.block())

    def step_variable(self) -> Var:
        t = self.tokens
        token = t.take("word", "the variable of the steps")
        extent = t.integer("the most steps") if t.has("below") else MANY
        return self.scalars.variable(token, extent, extent)

    def counted(self) -> Trips:
        """Return the loop that counted its steps: the last one, or the one that is named."""
        t = self.tokens
        token = t.next
        number = len(self.trips) - 1
        if t.has_words("of", "loop"):
            number = t.integer("the number of a loop")
        if not 0 <= number < len(self.trips):
            t.fail("there is no such loop before this line that counted its steps", token)
        return self.trips[number]

    def branch(self) -> Branch:
        t = self.tokens
        bodies: list[list[Any]] = []
        index = self.scalars.use()
        while True:
            t.word("is")
            token = t.next
            if t.integer("the number of the branch") != len(bodies):
                t.fail(f"expected branch {len(bodies)}, got {token.text}", token)
            bodies.append(self.block())
            if not t.has("elif"):
                return Branch(index, bodies)
            token = t.next
            if self.scalars.use() is not index:
                t.fail("branches of one `if` ask for one scalar", token)

    # -- moves of memory ------------------------------------------------------------

    def named(self) -> list[Buffer]:
        found = [self.buffer()]
        while self.tokens.has(","):
            found.append(self.buffer())
        return found

    def keep(self) -> Keep:
        t = self.tokens
        tapes = [] if t.is_at("in") else self.named()
        t.word("in")
        note = self.buffer()
        trips = self.counted()
        t.end_line()
        return Keep(tapes, trips, note)

    def recall(self) -> Recall:
        t = self.tokens
        tapes = [] if t.is_at("from") else self.named()
        t.word("from")
        note = self.buffer()
        t.end_line()
        self.trips.append(Trips())
        return Recall(tapes, self.trips[-1], note)

    def free(self) -> Release:
        tapes = self.named()
        self.tokens.end_line()
        return Release(tapes)

    def swap(self) -> Swap:
        first = self.buffer()
        self.tokens.mark(",")
        second = self.buffer()
        self.tokens.end_line()
        return Swap(first, second)
