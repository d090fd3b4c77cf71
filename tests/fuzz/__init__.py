"""Random NumPy functions, to find bugs in autojit.

    python -m tests.fuzz --minutes 60 --seed 0 --log faults.jsonl
    python -m tests.fuzz --only memory,threads --minutes 10 --jobs 2
    python -m tests.fuzz --only loops --show 17       # prints case 17
    python -m tests.fuzz --replay faults.jsonl        # checks failed cases again

A case is text: a function, its arguments, and a call that transforms it (``case.py``). It is
determined by the generator's name, the seed and its number. While a function is being written, each
line runs in plain NumPy, so that shapes and dtypes are known and numbers stay small
(``writer.py``).

========================  ===========================================================
file                      contents
========================  ===========================================================
``expressions.py``        templates of expressions
``statements.py``         assignments, views and writes into them, lists
``python_loops.py``       loops of Python
``random_loops.py``       loops of Python whose bodies are random
``control.py``            ``scan``, ``while_loop``, ``cond``, ``checkpoint``, ... nested
``calls.py``              transformations nested at random
``generators.py``         the generators, by name
``plain.py``              autojit's names in plain NumPy
``differences.py``        derivatives by differences in long double
``oracles.py``            the comparisons, and their tolerances
``memory.py``             guard pages, garbage in fresh memory, odd layouts
``repeated.py``           threads, and simultaneous callers
``round_trips.py``        texts, pickles, code on disk
``shrink.py``             makes a failing case small
``worker.py``             the process that checks; it may crash or hang
``limits.py``             limits for memory and time
``runner.py``             the run, and its report
========================  ===========================================================

Three computations are compared: compiled code, the interpreter on the unoptimised trace, and NumPy
itself, or differences for derivatives, which share no code with autojit. If results differ, the
difference is compared with the effect of noise on every rounding (``tests/ir/noise.py``). Points at
which differences do not converge, as at kinks, are omitted and counted; the report lists refused
and skipped cases.

A new statement is a function in one of the tables (``BASIC``, ``LOOPS``, ``CONTROL``), a new
expression a template, a new generator a function in ``GENERATORS``.
"""
