"""The tables are plain rows, which are printed with rich and written as Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench import peers
from bench.limits import Machine
from bench.measure import PeerResult, Ratio, WorkloadResult

NOTHING = "–"
OURS, JAX, HAND = "autojit", "jax", "numba"


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        lines = [f"**{self.title}**", "", _line(self.columns)]
        lines.append(_line(["---", *("---:" for _ in self.columns[1:])]))
        return "\n".join([*lines, *(_line(row) for row in self.rows)])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def number(value: float | None, digits: int = 3) -> str:
    """A number with three significant digits, never with an exponent."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def milliseconds(result: PeerResult | None) -> str:
    if result is None:
        return NOTHING
    if result.wrong:
        return "WRONG"
    if result.failure:
        return result.failure.split(":")[0]
    return number(result.seconds * 1e3)


def ratio(value: Ratio | None) -> str:
    if value is None:
        return NOTHING
    return f"{number(value.median)} ({number(value.low)}–{number(value.high)})"


def target(result: WorkloadResult) -> str:
    aim = result.workload.target
    if aim is None:
        return NOTHING
    reached = result.ratio(JAX, OURS)
    if reached is None:
        return number(aim)
    return f"{number(aim)} {'reached' if reached.median >= aim else 'missed'}"


def run_time(results: list[WorkloadResult], names: list[str]) -> Table:
    titles = [peers.load(name).title for name in names]
    rows = [
        (result.workload.name, *(milliseconds(result.peers.get(name)) for name in names))
        for result in results
    ]
    return Table("Gradient, ms", ("workload", *titles), tuple(rows))


def ratios(results: list[WorkloadResult]) -> Table:
    columns = ("workload", "JAX / ours", "target", "ours / by hand", "JAX / by hand")
    rows = [
        (
            result.workload.name,
            ratio(result.ratio(JAX, OURS)),
            target(result),
            ratio(result.ratio(OURS, HAND)),
            ratio(result.ratio(JAX, HAND)),
        )
        for result in results
    ]
    return Table("Ratios (quartiles of the rounds)", columns, tuple(rows))


def per_peer(
    title: str, results: list[WorkloadResult], names: list[str], figure: str, scale: float
) -> Table:
    """A table of one figure for each peer that took part: a scaled attribute of PeerResult."""

    def cell(result: PeerResult | None) -> str:
        if result is None or not result.gradient:
            return NOTHING
        value = getattr(result, figure)
        return number(None if value is None else value * scale)

    titles = [peers.load(name).title for name in names]
    rows = [
        (result.workload.name, *(cell(result.peers.get(name)) for name in names))
        for result in results
    ]
    return Table(title, ("workload", *titles), tuple(rows))


def limits(results: list[WorkloadResult]) -> Table:
    columns = ("workload", "limit", "ms", "ours / limit", "by hand / limit", "other limits")
    rows = []
    for result in results:
        if not result.bounds:
            rows.append((result.workload.name, "overhead of a call", *[NOTHING] * 4))
            continue
        holds, *others = result.bounds
        rows.append(
            (
                result.workload.name,
                holds.what,
                number(holds.seconds * 1e3),
                *(_over(result.peers.get(name), holds.seconds) for name in (OURS, HAND)),
                ", ".join(f"{b.what} {number(b.seconds * 1e3)} ms" for b in others) or NOTHING,
            )
        )
    return Table("What limits", columns, tuple(rows))


def _over(result: PeerResult | None, seconds: float) -> str:
    return number(result.seconds / seconds) if result and result.counts else NOTHING


def tables(results: list[WorkloadResult], names: list[str]) -> list[Table]:
    return [
        run_time(results, names),
        ratios(results),
        per_peer("Gradient over primal", results, names, "gradient_over_primal", 1.0),
        per_peer("Build and first call, ms", results, names, "first_call_s", 1e3),
        per_peer("Peak memory of the process, MB", results, names, "peak_mb", 1.0),
        limits(results),
    ]


def geometric_mean(results: list[WorkloadResult], dtype: str) -> str:
    """The geometric mean of JAX's time over ours, for the rows of a dtype where both count."""
    found = [r.ratio(JAX, OURS) for r in results if r.workload.dtype == dtype]
    medians = [ratio.median for ratio in found if ratio is not None]
    if not medians:
        return f"{dtype}: {NOTHING}"
    mean, least = statistics.geometric_mean(medians), min(medians)
    return f"{dtype}: {number(mean)} over {len(medians)} rows, least {number(least)}"


def summary(results: list[WorkloadResult]) -> list[str]:
    dtypes = dict.fromkeys(result.workload.dtype for result in results)
    means = "; ".join(geometric_mean(results, dtype) for dtype in dtypes)
    gradients = [r for r in results if r.workload.derivative == "gradient"]
    own = [r.peers[OURS].gradient_over_primal for r in gradients if OURS in r.peers]
    shares = [value for value in own if value is not None]
    lines = [f"JAX / ours, geometric mean: {means}."]
    if shares:
        median, worst = number(statistics.median(shares)), number(max(shares))
        lines.append(f"Gradient over primal, ours: median {median}, largest {worst}.")
    return lines


def machine_lines(machine: Machine, threads: int) -> list[str]:
    rates = ", ".join(
        f"{number(rate / 1e9)} GFlop/s {dtype}" for dtype, rate in machine.gemm.items()
    )
    return [
        f"Copy bandwidth (read and written): {number(machine.copy_one_thread / 1e9)} GB/s with one "
        f"thread, {number(machine.copy_all_threads / 1e9)} with {threads}. BLAS: {rates}. "
        f"A multiplication waits {number(machine.step * 1e9)} ns for the one before."
    ]


def remarks(results: list[WorkloadResult]) -> list[str]:
    """All absences, failures and wrong gradients, in words; equal words appear once."""
    found: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for name, peer in result.peers.items():
            words = f"WRONG, {peer.wrong}" if peer.wrong else peer.failure
            if words:
                found.setdefault((name, words), []).append(result.workload.name)
    return [
        f"{name}, {words} ({', '.join(where) if len(where) < len(results) else 'every workload'})"
        for (name, words), where in found.items()
    ]


def write_section(path: Path, heading: str, body: str) -> None:
    """Replace the section with this heading, or add it; the file's other sections stay."""
    text = path.read_text(encoding="utf-8") if path.exists() else "# Results\n"
    top, *sections = text.split("\n## ")
    kept = {section.split("\n", 1)[0]: section.split("\n", 1)[-1] for section in sections}
    kept[heading] = f"\n{body.strip()}\n"
    parts = [f"## {title}\n\n{content.strip()}\n" for title, content in sorted(kept.items())]
    path.write_text("\n".join([top.strip() + "\n", *parts]), encoding="utf-8")
