"""The application: its commands are declared group by group."""

from __future__ import annotations

from typing import Annotated

import typer

from autojit.cli.looking.commands import commands as looking
from autojit.cli.running.commands import commands as running
from autojit.cli.upkeep.commands import commands as upkeep

app = typer.Typer(
    name="autojit",
    help="Write NumPy, get compiled gradients: look at, check and time your functions.",
    epilog="TARGET is path/to/file.py:function or package.module:function. "
    "ARG is a type (f64[100,3], f32[], i64[5]), a literal (3.0, [1.0, 2.0]) "
    "or a tuple or dict of these.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from autojit import __version__

        typer.echo(f"autojit {__version__}")
        raise typer.Exit


for group in (looking, running, upkeep):
    app.add_typer(group)
