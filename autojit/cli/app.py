"""The application, assembled from groups of commands."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

from autojit.cli.common.groups import Commands, Group
from autojit.cli.looking.commands import commands as looking
from autojit.cli.running.commands import commands as running
from autojit.cli.upkeep.commands import commands as upkeep


class Application(Group):
    """All commands, in the order in which a user needs them."""

    panels: ClassVar = {
        "Your function": ("check", "bench", "dump", "explain", "profile", "source"),
        "The text of a program": ("run", "opt", "diff"),
        "This installation": ("mistakes", "doctor", "coverage", "cache", "completion"),
    }
    after = """
TARGET:
    path/to/file.py:function
    package.module:function

ARG:
    "f64[100,3]"  a random array of a type; f64[] is a number (see Types)
    3.0 "[1, 2]"  a literal: a number, an array, True, False, None; tuples and dicts of all these
    adam          a word is a string
    "range(10)"   a range
    @x.npy        an array from a file; @all.npz:name, @table.csv, @table.csv:column
    rate=0.1      a keyword argument; any of the above

Types:
    f64, f32    floats
    i64 .. i8   integers: i64, i32, i16, i8; without sign: u64, u32, u16, u8
    c128, c64   complex numbers
    bool        truth values

Exit codes:
    0    fine
    1    a check failed, your function raised an error, or this machine lacks something
    2    the command was not understood; nothing was run
    130  ended by Ctrl-C
    141  the reader of the output has gone (a closed pipe)

Environment:
    NO_COLOR, CLICOLOR=0  no colours
    FORCE_COLOR=1         colours in pipes, too
    AUTOJIT_PROGRESS=0    no progress line on stderr
    AUTOJIT_CACHE_DIR     folder of the cache of compiled code; empty: no cache

Examples:
    autojit check functions.py:loss "f64[3]" "f64[10,3]"
    autojit dump functions.py:loss "f64[3]" "f64[10,3]" --grad --stage loops
    autojit bench functions.py:loss "f64[3]" "f64[100000,3]"

functions.py:
    import numpy as np
    def loss(w, x):
        return np.mean(np.tanh(x @ w) ** 2)

script.py:
    import numpy as np
    from autojit import grad, jit
    from functions import loss
    print(jit(grad(loss))(np.ones(3), np.ones((10, 3))))
"""


def _print_version(wanted: bool) -> None:
    if wanted:
        from autojit import __version__

        typer.echo(f"autojit {__version__}")
        raise typer.Exit


app = Commands(
    name="autojit",
    cls=Application,
    help="Write NumPy, get compiled gradients: check, time and inspect your functions.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass


for group in (looking, running, upkeep):
    app.add_typer(group)
