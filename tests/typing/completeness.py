"""The share of public names whose types are complete, from pyright's report.

    pyright --verifytypes autojit --ignoreexternal --outputjson >report.json
    python tests/typing/completeness.py <report.json

Pyright counts each module as public whose name has no underscore. Ours are internal, except for
those listed here.
"""

from __future__ import annotations

import json
import sys
from typing import Any

#: Modules that users import; of the package itself, the names that it exports.
PUBLIC = ("autojit.errors", "autojit.ode", "autojit.scipy", "autojit.testing")
LEAST = 0.95


def is_public(name: str) -> bool:
    return name.count(".") == 1 or name.startswith(tuple(f"{module}." for module in PUBLIC))


def main() -> int:
    report: dict[str, Any] = json.load(sys.stdin)["typeCompleteness"]
    symbols = [s for s in report["symbols"] if s["isExported"] and is_public(s["name"])]
    incomplete = [s for s in symbols if not s["isTypeKnown"]]
    for symbol in incomplete:
        print(symbol["name"], *(d["message"] for d in symbol["diagnostics"]), sep="\n    ")
    share = 1 - len(incomplete) / len(symbols)
    print(f"{len(symbols)} public names, {share:.1%} with complete types")
    return share < LEAST


if __name__ == "__main__":
    sys.exit(main())
