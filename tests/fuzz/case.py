"""A case: the text of a NumPy function, of its arguments and of a call, and functions to run it."""

from __future__ import annotations

import json
import linecache
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

#: The names of autojit that a case may use.
NAMES = (
    "associative_scan", "checkpoint", "cond", "custom_jvp", "custom_vjp", "fori_loop", "grad",
    "hessian", "hvp", "jacfwd", "jacrev", "jit", "jvp", "linearize", "map", "scan", "switch",
    "value_and_grad", "vjp", "vmap", "while_loop",
)  # fmt: skip

_serial = 0


@dataclass(frozen=True)
class Case:
    """``source`` defines ``f``; ``call`` applies it to names of ``arguments``, which are texts.

    ``checks`` names the oracles. ``thresholds`` are the compiler thresholds that are changed.
    ``threads`` is the number of threads, None for the machine's number.
    """

    generator: str
    source: str
    call: str
    arguments: dict[str, str]
    checks: tuple[str, ...] = ("values",)
    thresholds: dict[str, Any] = field(default_factory=dict)
    threads: int | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Case:
        made = json.loads(text)
        return Case(**{**made, "checks": tuple(made["checks"])})

    def values(self) -> dict[str, Any]:
        """The arguments by name, created again at each call."""
        return {name: eval(text, {"np": np}) for name, text in self.arguments.items()}

    def run(self, names: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
        """The result of the call, if ``np`` and autojit's names have the given meanings."""
        return self.function(names)(*values.values())

    def function(self, names: Mapping[str, Any]) -> Any:
        """The call as a function of the arguments, in their order."""
        space = dict(names)
        parameters = ", ".join(self.arguments)
        text = f"{self.source.rstrip()}\n\ndef call({parameters}):\n    return {self.call}\n"
        exec(compile(text, _remembered(text), "exec"), space)
        return space["call"]

    def text(self) -> str:
        """A Python file that runs the case."""
        whole = f"{self.source}\n{self.call}"
        used = [n for n in NAMES if re.search(rf"(?<!\.)\b{n}\(", whole)]
        lines = ["import numpy as np"]
        if used:
            lines.append(f"from autojit import {', '.join(used)}")
        lines += [f"{name} = {text}" for name, text in self.arguments.items()]
        lines += ["", self.source.strip(), "", f"print({self.call})"]
        if self.thresholds:
            lines.append(f"# thresholds: {self.thresholds}")
        if self.threads is not None:
            lines.append(f"# threads: {self.threads}")
        return "\n".join(lines)

    def with_(self, **changes: Any) -> Case:
        return replace(self, **changes)


def _remembered(text: str) -> str:
    """Register a text under a file name, by which tracebacks and autojit find its lines."""
    global _serial
    _serial += 1
    name = f"<case {_serial}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    linecache.cache.pop(f"<case {_serial - 100}>", None)
    return name


def autojit_names() -> dict[str, Any]:
    """The names of a case when autojit runs it."""
    import autojit

    return {"np": np, **{name: getattr(autojit, name) for name in NAMES}}


def leaves(tree: Any) -> list[Any]:
    """The arrays and numbers in nested tuples, lists and dicts, in order."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    return [] if tree is None else [tree]


def mapped(function: Any, *trees: Any) -> Any:
    """Apply a function to the leaves of trees of one structure; return the tree of results."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: mapped(function, *(t[key] for t in trees)) for key in first}
    if isinstance(first, (tuple, list)):
        return type(first)(mapped(function, *parts) for parts in zip(*trees, strict=True))
    return None if first is None else function(*trees)
