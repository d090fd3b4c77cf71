"""A profile as plain dicts, lists, numbers and strings, for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .lines import PartTime
from .recorder import Node, Recorder
from .report import FunctionTime, report


def data(recorder: Recorder) -> dict[str, Any]:
    """All data that the other forms show.  Times are in seconds."""
    r = report(recorder)
    return {
        "seconds": r.seconds,
        "profile_itself": r.own,
        "elsewhere": r.elsewhere,
        "phases": list(map(asdict, r.phases)),
        "functions": [_function(f) for f in r.functions],
        "operations": list(map(asdict, r.ops)),
        "lines": [
            {"file": file, "line": number, "forward": line.forward, "backward": line.backward,
             "estimated": line.estimated}
            for (file, number), line in sorted(r.lines.items())
        ],
        "tree": [_node(child) for child in r.tree.children.values() if child.count],
    }  # fmt: skip


def _function(f: FunctionTime) -> dict[str, Any]:
    parts = list(map(_part, f.parts))
    return {"name": f.name, "count": f.count, "seconds": f.seconds, "parts": parts}


def _part(part: PartTime) -> dict[str, Any]:
    t = part.time
    return {
        "number": list(t.number), "name": t.name, "kind": t.kind, "count": t.count,
        "seconds": t.seconds, "short": t.is_short, "direction": part.direction,
        "lines": [
            {"file": s.file, "line": s.line, "backward": s.backward, "share": share}
            for s, share in part.shares.items()
        ],
        "inside": list(map(_part, part.inside)),
    }  # fmt: skip


def _node(node: Node) -> dict[str, Any]:
    return {
        "kind": node.kind, "name": node.name, "count": node.count, "seconds": node.net,
        "children": [_node(child) for child in node.children.values() if child.count],
    }  # fmt: skip
