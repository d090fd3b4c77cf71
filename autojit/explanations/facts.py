"""What is known of compiled code: of all of it (:class:`Facts`), and of each loop nest and library
call (:class:`Step`)."""

from __future__ import annotations

from dataclasses import dataclass, field

#: A part of the roofline that no code reaches: the machine was busy when that was measured.
TOO_GOOD = 1.1


@dataclass(frozen=True)
class Line:
    """A line of the user's; ``backward`` where its derivative is computed."""

    file: str
    number: int
    text: str
    backward: bool


@dataclass(frozen=True)
class Reason:
    """Why something was not done, and the way out where there is one.

    ``about`` is what it speaks of: the number of another step, or a loop as the text of loops
    writes it.
    """

    about: str
    reason: str
    way_out: str = ""


@dataclass(frozen=True)
class Vectors:
    """An innermost loop, and how many elements it works on at a time: 1 in scalar code."""

    loop: str
    lanes: int
    reason: Reason | None = None


@dataclass(frozen=True)
class Stored:
    """An array of the forward pass that is kept in memory for the reverse one."""

    line: Line | None
    operation: str
    type: str
    bytes: int


@dataclass
class Part:
    """A loop nest or a library call in the body of a loop whose steps run in turn; or the numbers
    that are computed between these."""

    #: That of the step, and its own: ``1.2``.
    number: str
    title: str
    lines: list[Line] = field(default_factory=list)
    #: How often it runs in a call, where that is known; in a branch it may be less.
    runs: int | None = 1
    runs_at_most: bool = False
    #: Of one run.
    flops: int = 0
    functions: dict[str, int] = field(default_factory=dict)
    vectors: list[Vectors] = field(default_factory=list)
    #: Of a library call: who does it.
    library: str = ""
    #: Of all runs; None where they are too short to be measured, or nothing was run.
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
    #: Why later steps are not part of it.
    not_fused: list[Reason] = field(default_factory=list)
    vectors: list[Vectors] = field(default_factory=list)
    #: Of a library call: who does it.
    library: str = ""
    tasks: int = 0
    #: Whether threads are used is found out as the code runs.
    tasks_measured: bool = False
    no_tasks: Reason | None = None
    #: Whether steps run in turn, each waiting for the one before.
    in_turn: bool = False
    flops: int = 0
    functions: dict[str, int] = field(default_factory=dict)
    #: Whether a loop of unknown length, or a branch, is counted once.
    is_open: bool = False
    bytes_read: int = 0
    bytes_written: int = 0
    #: Whether these are the most that there may be.
    bytes_at_most: bool = False
    #: The least seconds that this machine takes to compute, and to move the bytes.
    compute_seconds: float = 0.0
    memory_seconds: float = 0.0
    #: Measured, of the fastest call; None where nothing was run.
    seconds: float | None = None
    #: Arrays in memory that it is the first to use, besides arguments and results: bytes by name.
    temporaries: dict[str, int] = field(default_factory=dict)
    #: Of these, which lie in the memory of another array, by name.
    reused: dict[str, str] = field(default_factory=dict)
    #: What the forward pass has stored and this one reads, and operations that it computes again.
    stored: list[Stored] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    #: What stands in loops whose steps run in turn, and in branches, one by one.
    inside: list[Part] = field(default_factory=list)

    @property
    def roofline_seconds(self) -> float:
        """The least seconds that this machine takes."""
        return max(self.compute_seconds, self.memory_seconds)

    @property
    def bound(self) -> str:
        """``compute`` or ``memory``, whichever takes longer; ``order`` where steps wait for each
        other; nothing where there is nothing to do."""
        if self.in_turn:
            return "order"
        if not self.roofline_seconds:
            return ""
        return "compute" if self.compute_seconds >= self.memory_seconds else "memory"

    @property
    def share(self) -> float | None:
        """The part of the roofline that was reached; None where it was not measured."""
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
    """What is known of a compiled function.  Times are in seconds, sizes in bytes."""

    name: str
    signature: str
    steps: list[Step]
    #: How many operations were traced, and are left after the passes.
    traced: int
    optimized: int
    #: Arguments, captured arrays and results.
    bytes_in_out: int
    #: The memory that a call takes besides.
    temporaries: int
    #: Where the code came from: ``memory``, ``disk`` or ``compiled anew``.
    cache: str
    #: Seconds of ``trace``, ``passes``, ``loops`` and ``compilation``, taken now.
    times: dict[str, float]
    #: The fastest call, and how many there were; None where nothing was run.
    seconds: float | None
    calls: int
    #: What this machine reaches, in words.
    machine: str
    #: What tracing did with loops of Python's.
    python_loops: list[Reason] = field(default_factory=list)

    @property
    def flops(self) -> int:
        """Operations on floats of a call."""
        return sum(step.flops for step in self.steps)

    @property
    def stored(self) -> list[Stored]:
        """What the forward pass stores for the reverse one, each once."""
        return list(dict.fromkeys(each for step in self.steps for each in step.stored))

    @property
    def roofline_seconds(self) -> float:
        """The least seconds that all steps take on this machine."""
        return sum(step.roofline_seconds for step in self.steps)


def described(line: Line) -> str:
    """A line's place in words.

    >>> described(Line("model.py", 7, "y = x + 1", True))
    'backward of model.py:7'
    """
    words = f"{line.file}:{line.number}"
    return f"backward of {words}" if line.backward else words
