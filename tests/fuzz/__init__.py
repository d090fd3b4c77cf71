"""Random NumPy functions, to find faults in autojit.

    python -m tests.fuzz --minutes 60 --seed 0 --log faults.jsonl
    python -m tests.fuzz --only memory,threads --minutes 10 --jobs 2
    python -m tests.fuzz --only loops --show 17       # prints case 17
    python -m tests.fuzz --replay faults.jsonl        # checks what failed again

A case is text: a function, its arguments, and a call that transforms it (``case.py``). It follows
from the generator's name, the seed and its number. While a function is written each line runs in
plain NumPy, so that shapes and dtypes are known and numbers stay small (``writer.py``).

========================  ===========================================================
file                      holds
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
``oracles.py``            what is compared, and how close it has to be
``memory.py``             guard pages, garbage in fresh memory, odd layouts
``repeated.py``           threads, and callers at once
``round_trips.py``        texts, pickles, code on disk
``shrink.py``             makes a failing case small
``worker.py``             the process that checks; it may crash or hang
``limits.py``             a bound for memory
``runner.py``             the run, and its report
========================  ===========================================================

Three computations are compared: compiled code, the interpreter on the trace as it is, and NumPy
itself, or differences for derivatives, which share no code with autojit. Results that lie apart
are held to what noise on every rounding does to them (``tests/ir/noise.py``). Points at which
differences do not settle, as at kinks, are left out and counted; the report lists what was
refused and what was skipped.

A new statement is a function in one of the tables (``BASIC``, ``LOOPS``, ``CONTROL``), an
expression one template, a generator one function in ``GENERATORS``.
"""
