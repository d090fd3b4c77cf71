"""Data that is written and read again is the same: texts, pickles, and code on disk."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections import OrderedDict
from typing import Any

import pytest

import autojit
from autojit import jit
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.verifier import verify
from autojit.staging import execute
from tests.fuzz.case import autojit_names, leaves
from tests.fuzz.memory import owned, same_bits
from tests.fuzz.oracles import Fault, Run, faults


def check_round_trips(run: Run) -> None:
    """Programs as texts and as pickles; functions as pickles; code loaded from disk."""
    with faults("optimized"):
        programs = {"traced": run.program, "optimized": optimize(run.program)}
    for name, program in programs.items():
        with faults("verified"):
            verify(program)
        _check_text(name, program, run.inputs())
        with faults("pickled"):
            again = pickle.loads(pickle.dumps(program))
        if again != program:
            raise Fault(f"the pickle of the {name} program is another one", str(again))
    _check_function(run)
    _check_disk(run)


def _check_text(name: str, program: Any, inputs: list[Any]) -> None:
    text = program.text()
    with faults(f"parse of the {name} program"):
        again = autojit.parse(text)
    if again != program or again.text() != text:
        raise Fault(f"the text of the {name} program is another one", f"{text}\n{again.text()}")
    with faults("interpreted"):
        got, wanted = interpret(again, inputs), interpret(program, inputs)
    same_bits(f"the text of the {name} program computes something else", got, wanted)


def _check_function(run: Run) -> None:
    compiled = jit(run.case.function(autojit_names()))
    with faults("compiled"):
        wanted = owned(leaves(compiled(*run.values.values())))
    run.compared += sum(w.size for w in wanted)
    with faults("pickled"):
        again = pickle.loads(pickle.dumps(compiled))
        got = owned(leaves(again(*run.values.values())))
    same_bits("a pickled function computes something else", got, wanted)


def _check_disk(run: Run) -> None:
    """Code is stored in a folder and loaded by the next compilation."""
    results = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "AUTOJIT_CACHE_DIR", folder)  # type: ignore[arg-type]
        patch.setitem(os.environ, "AUTOJIT_CACHE_SIZE", "64M")  # type: ignore[arg-type]
        for _ in range(2):
            patch.setattr(execute, "_executables", OrderedDict())
            compiled = jit(run.case.function(autojit_names()))
            with faults("loaded from disk" if results else "compiled"):
                results.append(owned(leaves(compiled(*run.values.values()))))
        loaded = compiled.cache_info().loaded
    same_bits("code from disk computes something else", results[1], results[0])
    if not loaded:
        raise Fault("nothing is loaded from disk", "the second time it is compiled again")
