"""What a runtime knows of a construct before it runs."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """A construct of the user's source, as the runtime of its twin sees it."""

    #: The line of the construct.
    line: int
    #: "if", "while", "for", "ifexp" or "assert".
    kind: str
    #: The names that ``get`` returns and ``put`` sets: all that the construct may assign.
    names: tuple[str, ...]
    #: The names that may be read in the construct before it has assigned them.
    live_in: frozenset[str]
    #: The names that may be read after the construct.
    live_out: frozenset[str]
    #: The names that the rewriter made: flags and results.
    internal: frozenset[str]
    #: The local and closure names that the construct reads; ``seen`` returns their values.
    reads: tuple[str, ...]
    #: The source of the test, or of the iterable.
    text: str
    #: The user's file.
    file: str
