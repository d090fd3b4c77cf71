"""``python -m tests.fuzz``: see the package's docstring."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import warnings
from pathlib import Path

from tests.fuzz.case import Case
from tests.fuzz.generators import GENERATORS, make
from tests.fuzz.runner import Options, Session
from tests.fuzz.worker import Worker


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (1)")
    parser.add_argument("--cases", type=int, help="so many of each generator, whatever the time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", default="", help=f"of {', '.join(GENERATORS)}; more by commas")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes check cases")
    parser.add_argument("--log", type=Path, help="failures are added here, one JSON a line")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print a case of --only")
    parser.add_argument("--replay", type=Path, metavar="LOG", help="check the failures of a log")
    parser.add_argument("--shrinking", type=float, default=90.0, help="seconds for a failure")
    parser.add_argument(
        "--limit", type=float, default=120.0, help="seconds of processor time that a case may take"
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # for the writer; workers have their own filters
    only = [name for name in given.only.split(",") if name]
    if unknown := [name for name in only if name not in GENERATORS]:
        parser.error(f"no generator {unknown[0]}; there are {', '.join(GENERATORS)}")
    if given.show is not None:
        for name in only or GENERATORS:
            print(make(name, given.seed, given.show).text(), end="\n\n")
        return 0
    if given.replay:
        return _replay(given.replay)
    session = Session(
        Options(
            given.seed,
            given.minutes,
            given.cases,
            only,
            given.jobs,
            given.log,
            given.shrinking,
            given.limit,
            given.start,
        )
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: session.stop())
    report = session.run()
    print(report.text())
    return 1 if report.failures else 0


def _replay(log: Path) -> int:
    """Check the shrunk cases of a log again; the status tells whether one still fails."""
    worker, failed = Worker(), 0
    for line in log.read_text().splitlines():
        case = Case.from_json(json.dumps(json.loads(line)["shrunk"]))
        found = worker.check(case)
        failed += found["status"] == "failed"
        print(f"{found['status']}: {found['kind']}\n{case.text()}\n")
    worker.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
