"""``autojit doctor``: tests each required part, and prints a line about each."""

from __future__ import annotations

from autojit.cli.common.machine import give_json
from autojit.cli.common.terminal import console, say, state_line
from autojit.session.progress import stage

from . import probes
from .probes import Finding


def doctor(format: str = "text") -> bool:
    """Print a line for each probe as it ends; return whether all required parts work."""
    found = []
    with stage("testing", "this installation", lambda: 0):
        for name, probe in probes.PROBES.items():
            for finding in run_probe(probe):
                found.append(finding._replace(name=finding.name or name))
                if format == "text":
                    state_line(console(), finding.state, found[-1].name, finding.words)
    healthy = all(finding.state != "failed" for finding in found)
    if format == "json":
        rows = [{"name": f.name, "state": f.state, "words": f.words} for f in found]
        give_json({"healthy": healthy, "findings": rows})
    else:
        verdict = "Everything that autojit needs works." if healthy else "Something does not work."
        say(verdict, "green" if healthy else "bold red")
    return healthy


def run_probe(probe: probes.Probe) -> list[Finding]:
    """The findings of a probe; an exception is a finding too."""
    try:
        found = probe()
    except Exception as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        return [Finding("failed", f"{type(error).__name__}: {first}")]
    return [found] if isinstance(found, Finding) else found
