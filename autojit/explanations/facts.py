"""Facts about compiled code: about all of it (:class:`Facts`), and about each loop nest and library
call (:class:`Step`)."""

from __future__ import annotations

from dataclasses import dataclass, field

#: A share of the roofline that no code reaches: the machine was busy when its limit was measured.
TOO_GOOD = 1.1


@dataclass(frozen=True)
class Line:
    """A line of the user's code; ``backward`` if its derivative is computed."""

    file: str
    number: int
    text: str
    backward: bool


@dataclass(frozen=True)
class Reason:
    """Why something was not done, and the way out if there is one.

    ``about`` is its subject: the number of another step, or a loop as written in the text of the
    loops.
    """

    about: str
    reason: str
    way_out: str = ""


@dataclass(frozen=True)
class Vectors:
    """An innermost loop, and the number of elements it works on at a time: 1 in scalar code."""

    loop: str
    lanes: int
    reason: Reason | None = None


@dataclass(frozen=True)
class Stored:
    """An array of the forward pass that is kept in memory for the reverse pass."""

    line: Line | None
    operation: str
    type: str
    bytes: int


@dataclass
class Part:
    """A loop nest or a library call in the body of a sequential loop; or the single numbers that
    are computed between these."""

    #: The number of the step and that of the part: ``1.2``.
    number: str
    title: str
    lines: list[Line] = field(default_factory=list)
    #: How often it runs in a call, if known; in a branch it may run less often.
    runs: int | None = 1
    runs_at_most: bool = False
    #: The operations of one run.
    flops: int = 0
    functions: dict[str, int] = field(default_factory=dict)
    vectors: list[Vectors] = field(default_factory=list)
    #: The library of a library call.
    library: str = ""
    #: The time of all runs; None if they are too short to be measured, or if nothing was run.
    seconds: float | None = None

    @property
    def is_nest(self) -> bool:
        """Whether it is a loop nest or a library call."""
        return bool(self.library) or self.title.startswith("loop")


@dataclass
class Step:
    """A loop nest, or a library call."""

    number: int
    #: ``loops``, ``product``, ``callback``, or the library's function: ``cholesky``.
    kind: str
    title: str
    lines: list[Line] = field(default_factory=list)
    #: The operations that it computes, by name, in order.
    operations: list[str] = field(default_factory=list)
    #: Why later steps are not fused with it.
    not_fused: list[Reason] = field(default_factory=list)
    vectors: list[Vectors] = field(default_factory=list)
    #: The library of a library call.
    library: str = ""
    tasks: int = 0
    #: Whether the code measures at run time if threads are faster.
    tasks_measured: bool = False
    no_tasks: Reason | None = None
    #: Whether it has sequential loops, in which each step waits for the one before.
    in_turn: bool = False
    flops: int = 0
    functions: dict[str, int] = field(default_factory=dict)
    #: Whether a loop of unknown length, or a branch, was counted once.
    is_open: bool = False
    bytes_read: int = 0
    bytes_written: int = 0
    #: Whether the bytes are an upper bound.
    bytes_at_most: bool = False
    #: The least seconds that this machine needs to compute, and to move the bytes.
    compute_seconds: float = 0.0
    memory_seconds: float = 0.0
    #: The measured time of the fastest run; None if nothing was run.
    seconds: float | None = None
    #: Arrays, besides arguments and results, that it is the first step to use: bytes by name.
    temporaries: dict[str, int] = field(default_factory=dict)
    #: Such arrays that reuse the memory of another array: the other array's name by name.
    reused: dict[str, str] = field(default_factory=dict)
    #: Arrays of the forward pass that this step reads, and operations that it computes again.
    stored: list[Stored] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    #: The parts of its sequential loops and branches.
    inside: list[Part] = field(default_factory=list)

    @property
    def roofline_seconds(self) -> float:
        """The least seconds that this machine needs."""
        return max(self.compute_seconds, self.memory_seconds)

    @property
    def bound(self) -> str:
        """The bound: ``compute`` or ``memory``, whichever takes longer; ``order`` if steps wait for
        each other; empty if there is nothing to do."""
        if self.in_turn:
            return "order"
        if not self.roofline_seconds:
            return ""
        return "compute" if self.compute_seconds >= self.memory_seconds else "memory"

    @property
    def share(self) -> float | None:
        """The share of the roofline that was reached; None if it was not measured."""
        if not self.seconds or not self.roofline_seconds:
            return None
        return self.roofline_seconds / self.seconds

    @property
    def is_backward(self) -> bool:
        """Whether it computes derivatives, at least in part."""
        return any(line.backward for line in self.lines)

    @property
    def place(self) -> str:
        """The first line, in words."""
        return described(self.lines[0]) if self.lines else "no line of yours"


@dataclass
class Facts:
    """The facts about a compiled function.  Times are in seconds, sizes in bytes."""

    name: str
    signature: str
    steps: list[Step]
    #: How many operations were traced, and how many are left after the passes.
    traced: int
    optimized: int
    #: The bytes of arguments, captured arrays and results.
    bytes_in_out: int
    #: The memory that a call needs besides these.
    temporaries: int
    #: The source of the code: ``memory``, ``disk`` or ``compiled anew``.
    cache: str
    #: Seconds of ``trace``, ``passes``, ``lowering`` and ``compilation``, measured now.
    times: dict[str, float]
    #: The time of the fastest call (None if nothing was run), and the number of calls.
    seconds: float | None
    calls: int
    #: The peak rates of this machine, in words.
    machine: str
    #: How tracing treated Python's loops.
    python_loops: list[Reason] = field(default_factory=list)

    @property
    def flops(self) -> int:
        """The floating-point operations of a call."""
        return sum(step.flops for step in self.steps)

    @property
    def stored(self) -> list[Stored]:
        """The arrays that the forward pass stores for the reverse pass, each once."""
        return list(dict.fromkeys(each for step in self.steps for each in step.stored))

    @property
    def roofline_seconds(self) -> float:
        """The least seconds that all steps together need on this machine."""
        return sum(step.roofline_seconds for step in self.steps)


def described(line: Line) -> str:
    """A line's place in words.

    >>> described(Line("model.py", 7, "y = x + 1", True))
    'backward of model.py:7'
    """
    words = f"{line.file}:{line.number}"
    return f"backward of {words}" if line.backward else words
