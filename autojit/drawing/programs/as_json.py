"""Drawings as JSON.

The schema, version 1.  An object with

``schema``     ``"autojit.picture/1"``
``kind``       ``"program"``, ``"adjoint"`` or ``"loops"``
``name``       the name of the program
``caption``    a sentence
``groups``     objects, outer groups first: ``id``; ``kind`` (``all``, ``half``, ``call``,
               ``loop``, ``step``, ``line``, ``block``, ``body``, ``kernel``); ``title``; ``lines``;
               ``parent`` (an id, or null); ``operations`` (the number of operations inside); if
               known, ``source``, ``text``, ``value``, ``gradient``; for an operation with bodies,
               ``op``, ``params`` and ``results``, as for a node
``nodes``      objects, in the order of the program: ``id``; ``kind`` (``op``, ``constant``,
               ``input``, ``output``, ``call``, ``load``, ``store``, ``reduce``); ``title``;
               ``lines``; ``parent``; if known, ``source``, ``text``, ``value``, ``gradient``; for
               an operation, ``op`` (its name), ``params`` and ``results`` (each with ``name``,
               ``type`` and ``bytes``); for an input or an output, ``type`` and ``bytes``
``edges``      objects: ``from`` and ``to`` (ids of nodes, or of groups that are operations),
               ``name``, ``type``, ``bytes``, ``kind`` (``value``; ``kept`` for a value that the
               reverse pass reads from the forward pass; ``seed``; in loops ``memory`` and
               ``scalar``)

A ``source`` has ``file``, ``line`` and ``function``.
"""

from __future__ import annotations

import json
from typing import Any

from .model import Drawing, Group, Item

SCHEMA = "autojit.picture/1"


def as_json(drawing: Drawing) -> str:
    """The JSON text of a drawing."""
    parents = {m.id: group.id for group in drawing.groups() for m in group.members}
    made = {
        "schema": SCHEMA,
        "kind": drawing.kind,
        "name": drawing.name,
        "caption": drawing.caption,
        "groups": [_item(group, parents) for group in drawing.groups()],
        "nodes": [_item(node, parents) for node in drawing.nodes()],
        "edges": [
            {
                "from": e.start, "to": e.end, "name": e.name, "type": e.type, "bytes": e.nbytes,
                "kind": e.kind,
            }
            for e in drawing.edges
        ],
    }  # fmt: skip
    return json.dumps(made, indent=1, allow_nan=False)


def _item(item: Item, parents: dict[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": item.id, "kind": item.kind, "title": item.title, "lines": item.lines,
        "parent": parents.get(item.id),
    }  # fmt: skip
    if item.source is not None:
        source = item.source
        made["source"] = {"file": source.file, "line": source.line, "function": source.function}
    known = {"text": item.text, "value": item.value, "gradient": item.gradient}
    made.update({name: value for name, value in known.items() if value})
    made.update(item.about)
    if isinstance(item, Group):
        made["operations"] = sum(n.kind not in ("input", "output") for n in item.nodes())
    return made
