"""`python -m bench [WORKLOAD…]` prints the table; `latency`, `tracing`, `ways_in`,
`torch [FIGURE…]` and `gpu [WORKLOAD…]` are others, and `beside`, `programs`, `passes` and
`npbench` have options of their own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from bench import gpu, latency, limits, machine, passes, peers, report, tracing, ways_in, workloads
from bench.beside import command as beside
from bench.beside import define_by_run
from bench.measure import measure
from bench.npbench import command as npbench
from bench.programs import command as programs

RESULTS = Path(__file__).parent / "RESULTS.md"


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "workloads", nargs="*", help="workloads or their files; or: latency, tracing, ways_in"
    )
    parser.add_argument("--peers", default="", help=f"some of: {','.join(peers.NAMES)}")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=machine.processors())
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds to build and compile")
    parser.add_argument("--write", action="store_true", help="regenerate this part of RESULTS.md")
    parser.add_argument("--output", type=Path, default=RESULTS, help="another file to write")
    options = parser.parse_args(argv)
    options.peers = list(filter(None, options.peers.split(","))) or list(peers.NAMES)
    return options


def show(console: Console, table: report.Table) -> None:
    rich = RichTable(title=table.title, title_justify="left")
    for position, column in enumerate(table.columns):
        rich.add_column(column, justify="right" if position else "left")
    for row in table.rows:
        rich.add_row(*row)
    console.print(rich)


def publish(
    options: argparse.Namespace, heading: str, lines: list[str], tables: list[report.Table]
) -> None:
    """Print, and with --write put the same into RESULTS.md."""
    console = Console()
    if not console.is_terminal:
        console.width = 160
    for table in tables:
        show(console, table)
    for line in lines:
        console.print(line, markup=False, highlight=False)
    if options.write:
        body = "\n\n".join([*("- " + line for line in lines), *(t.markdown() for t in tables)])
        report.write_section(options.output, heading, body)


def context(options: argparse.Namespace) -> list[str]:
    return [
        f"{machine.today()}, {machine.description()}; threads: {options.threads}.",
        f"{machine.versions(options.peers)}.",
    ]


def run_workloads(options: argparse.Namespace) -> None:
    chosen = workloads.select(options.workloads)
    load = machine.load()
    console = Console(stderr=True)
    with console.status("measuring the machine's limits") as status:
        rates, bounds = limits.measured_apart(options.threads, chosen)
        results = []
        for workload in chosen:
            result = measure(
                workload,
                options.peers,
                options.rounds,
                options.threads,
                options.timeout,
                status.update,
            )
            result.bounds = bounds[workload.name]
            results.append(result)
    lines = [
        *context(options),
        f"{options.rounds} rounds, every peer in turn; medians. Load before the run: {load}.",
        *report.machine_lines(rates, options.threads),
        *report.summary(results),
        *report.remarks(results),
    ]
    plural = "s" if options.threads > 1 else ""
    heading = f"Run time, {options.threads} thread{plural}"
    publish(options, heading, lines, report.tables(results, options.peers))


def run_ways_in(options: argparse.Namespace) -> None:
    options.peers = ["autojit", "numba"]
    table = ways_in.measure_both(min(options.rounds, 7))
    publish(options, "Ways into native code", context(options), [table])


def run_latency(options: argparse.Namespace) -> None:
    with Console(stderr=True).status("latency") as status:
        tables, remarks = latency.measure(options.peers, options.threads, status.update)
    publish(options, "Latency", [*context(options), *remarks], tables)


def run_gpu(options: argparse.Namespace) -> None:
    options.peers = ["autojit"]
    card, chosen = gpu.first_card(), workloads.select(options.workloads[1:])
    with Console(stderr=True).status("GPU") as status:
        table = gpu.table(chosen, card, status.update)
    publish(options, "On a GPU", context(options), [table])


def run_tracing(options: argparse.Namespace) -> None:
    options.peers = ["autojit"]
    with Console(stderr=True).status("tracing") as status:
        tables, remarks = tracing.measure(options.threads, status.update)
    publish(options, "Long traces", [*context(options), *remarks], tables)


def main(argv: list[str] | None = None) -> None:
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == ["programs"]:
        return programs.main(given[1:])
    if given[:1] == ["beside"]:
        return beside.main(given[1:], publish)
    if given[:1] == ["passes"]:
        return passes.main(given[1:], publish)
    if given[:1] == ["torch"]:
        show(Console(), define_by_run.table(given[1:]))
        return None
    if given[:1] == ["npbench"]:
        return npbench.main(given[1:])
    options = arguments(given)
    if options.workloads == ["latency"]:
        run_latency(options)
    elif options.workloads[:1] == ["gpu"]:
        run_gpu(options)
    elif options.workloads == ["tracing"]:
        run_tracing(options)
    elif options.workloads == ["ways_in"]:
        run_ways_in(options)
    else:
        run_workloads(options)


if __name__ == "__main__":
    main()
