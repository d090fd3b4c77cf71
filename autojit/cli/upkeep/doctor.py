"""``autojit doctor``: every part that is needed is run, and one line says how it went."""

from __future__ import annotations

from autojit.cli.common.terminal import console, state_line

from . import probes
from .probes import Finding


def doctor() -> bool:
    """Print a line for each probe as it ends; whether everything works that must."""
    out = console()
    healthy = True
    for name, probe in probes.PROBES.items():
        for finding in run_probe(probe):
            state_line(out, finding.state, finding.name or name, finding.words)
            healthy = healthy and finding.state != "failed"
    verdict = "Everything that autojit needs works." if healthy else "Something does not work."
    out.print(verdict, style="green" if healthy else "bold red")
    return healthy


def run_probe(probe: probes.Probe) -> list[Finding]:
    """The findings of a probe; an exception is a finding too."""
    try:
        found = probe()
    except Exception as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        return [Finding("failed", f"{type(error).__name__}: {first}")]
    return [found] if isinstance(found, Finding) else found
