"""The script of pages.

A box that opens pushes the other boxes of its layer aside and the layers below it down: boxes keep
the order of the layout.
"""

from __future__ import annotations

from .placed import APART, HEAD, INSIDE, LEAST

_SIZES = {"APART": APART, "HEAD": HEAD, "INSIDE": INSIDE, "LEAST": LEAST}
_SCRIPT = r"""
const svg = document.querySelector("svg.autojit-picture");
const all = svg.querySelector(".aj-all");
const numbers = text => text.split(",").map(Number);
const kids = (g, name) => [...g.children].filter(c => c.classList.contains(name));
const isOpen = box => box.dataset.open === "1";

// Places as they were laid out.
const levels = new Map();
for (const g of svg.querySelectorAll(".aj-level")) {
  const boxes = kids(g, "aj-box").map(box => {
    const [x, y] = numbers(box.dataset.at), [w, h] = numbers(box.dataset.size);
    return { box, id: box.dataset.id, x, y, w, h };
  });
  const edges = kids(g, "aj-edge").map(edge => ({ edge, from: edge.dataset.from,
    to: edge.dataset.to, label: edge.querySelector("text"),
    points: edge.dataset.points.split(" ").map(numbers) }));
  for (const e of edges)
    if (e.label) e.at = [+e.label.getAttribute("x"), +e.label.getAttribute("y")];
  levels.set(g, { g, boxes, edges, up: g.dataset.up === "1", size: numbers(g.dataset.size) });
}

function sizeOf(entry) {  // of a box as it is now
  const box = entry.box;
  if (!box.classList.contains("aj-group")) return [entry.w, entry.h];
  if (!isOpen(box)) return entry.started ? numbers(box.dataset.shut) : [entry.w, entry.h];
  const opened = kids(box, "aj-opened")[0], inside = kids(opened, "aj-inside")[0];
  const level = arrange(levels.get(inside.firstElementChild));
  const w = Math.max(level[0] + 2 * INSIDE, +opened.dataset.least);
  const h = level[1] + HEAD + 2 * INSIDE;
  const rect = opened.querySelector("rect");
  rect.setAttribute("x", -w / 2); rect.setAttribute("width", w);
  rect.setAttribute("y", -h / 2); rect.setAttribute("height", h);
  kids(opened, "aj-name")[0].setAttribute("y", -h / 2 + 17);
  inside.setAttribute("transform", `translate(${-level[0] / 2},${-h / 2 + HEAD + INSIDE})`);
  return [w, h];
}

function curve(points, across) {
  let [x, y] = points[0], d = `M${x},${y}`;
  for (const [a, b] of points.slice(1)) {
    const m = across ? (x + a) / 2 : (y + b) / 2;
    d += across ? ` C${m},${y} ${m},${b} ${a},${b}` : ` C${x},${m} ${a},${m} ${a},${b}`;
    x = a; y = b;
  }
  return d;
}
function arrow(points, across, sign) {
  const [x, y] = points[points.length - 1], s = 6 * sign;
  return curve(points, across) + (across ? ` M${x - s},${y - 3.5} L${x},${y} L${x - s},${y + 3.5}`
    : ` M${x - 3.5},${y - s} L${x},${y} L${x + 3.5},${y - s}`);
}

function arrange(level) {  // puts the boxes of a level in their places; its size
  const rows = new Map();
  for (const e of level.boxes) {
    [e.nw, e.nh] = sizeOf(e);
    const key = e.y.toFixed(0);
    if (!rows.has(key)) rows.set(key, { y: e.y, old: 0, now: 0, boxes: [] });
    const row = rows.get(key);
    row.boxes.push(e);
    row.old = Math.max(row.old, e.h); row.now = Math.max(row.now, e.nh);
  }
  const sorted = [...rows.values()].sort((a, b) => a.y - b.y);
  let down = 0;
  for (const row of sorted) {
    const more = row.now - row.old;
    row.ny = row.y + down + more / 2;
    row.before = down; down += more; row.after = down;
  }
  const newY = y => {
    for (const row of sorted) {
      if (y < row.y - row.old / 2 - 1) return y + row.before;
      if (y <= row.y + row.old / 2 + 1) return row.ny + (y - row.y) * row.now / row.old;
    }
    return y + down;
  };
  const rowAt = y => sorted.find(r => Math.abs(y - r.y) <= r.old / 2 + 1);
  const newX = (x, y) => {
    const row = rowAt(y);
    if (!row) return x;
    let shift = 0;
    for (const e of row.boxes) {
      const more = e.nw - e.w;
      if (e.x < x - 0.6) shift += more / 2; else if (e.x > x + 0.6) shift -= more / 2;
    }
    return x + shift;
  };
  let left = Infinity, right = -Infinity, byId = new Map();
  for (const e of level.boxes) {
    e.nx = newX(e.x, e.y); e.ny = newY(e.y);
    byId.set(e.id, e);
    left = Math.min(left, e.nx - e.nw / 2); right = Math.max(right, e.nx + e.nw / 2);
  }
  const labelShift = [];
  for (const e of level.edges) {
    const a = byId.get(e.from), b = byId.get(e.to), last = e.points.length - 1;
    const sign = level.up ? -1 : 1;
    e.now = e.points.map(([x, y], k) => {
      if (k === 0) return [a.nx + (x - a.x) * a.nw / a.w, a.ny + sign * a.nh / 2];
      if (k === last) return [b.nx + (x - b.x) * b.nw / b.w, b.ny - sign * b.nh / 2];
      return [newX(x, y), newY(y)];
    });
    for (const [x] of e.now) { left = Math.min(left, x); right = Math.max(right, x); }
    if (e.label) {
      const half = e.label.textContent.length * 2.8;
      left = Math.min(left, e.now[0][0] - half); right = Math.max(right, e.now[0][0] + half);
    }
  }
  for (const e of level.boxes) {
    e.nx -= left;
    e.box.setAttribute("transform", `translate(${e.nx},${e.ny})`);
  }
  for (const e of level.edges) {
    const points = e.now.map(([x, y]) => [x - left, y]);
    e.edge.querySelector("path").setAttribute("d", arrow(points, false, level.up ? -1 : 1));
    if (e.label) {
      e.label.setAttribute("x", points[0][0]);
      e.label.setAttribute("y", points[0][1] + e.at[1] - e.points[0][1]);
    }
  }
  level.now = [right - left, level.size[1] + down];
  return level.now;
}

function arrangeAll() {
  const columns = kids(all, "aj-column").map(g => ({ g, level: levels.get(g.firstElementChild) }));
  for (const c of columns) c.size = arrange(c.level);
  const height = Math.max(...columns.map(c => c.size[1]));
  let x = 0;
  for (const c of columns) {
    c.x = x; c.y = height - c.size[1];
    c.g.setAttribute("transform", `translate(${c.x},${c.y})`);
    x += c.size[0] + APART;
  }
  const between = kids(all, "aj-between").map(edge => {
    const [from, to] = ["from", "to"].map((name, k) => {
      const c = columns[k], e = c.level.boxes.find(e => e.id === edge.dataset[name]);
      return { x: c.x + e.nx, y: c.y + e.ny, w: e.nw };
    });
    return { edge, from, to };
  }).sort((a, b) => a.from.y - b.from.y);
  let last = -LEAST;
  for (const { edge, from, to } of between) {
    const right = columns[0].size[0];
    last = Math.max(from.y, last + LEAST);
    const points = [[from.x + from.w / 2, from.y], [right + 12, last], [to.x - to.w / 2, to.y]];
    edge.querySelector("path").setAttribute("d", arrow(points, true, 1));
    const label = edge.querySelector("text");
    label.setAttribute("x", right + 14); label.setAttribute("y", last - 3);
  }
  return [x - APART, height];
}

function show(box, open) {
  box.dataset.open = open ? "1" : "0";
  const shut = kids(box, "aj-shut")[0], opened = kids(box, "aj-opened")[0];
  if (open) { shut.setAttribute("display", "none"); opened.removeAttribute("display"); }
  else { opened.setAttribute("display", "none"); shut.removeAttribute("display"); }
}
for (const level of levels.values())
  for (const e of level.boxes) e.started = isOpen(e.box);

// The part of the drawing that is seen.
let view = svg.getAttribute("viewBox").split(" ").map(Number);
const look = () => svg.setAttribute("viewBox", view.join(" "));
function fit(whole = true) {
  const b = all.getBBox();
  view = [b.x - 16, b.y - 52, Math.max(b.width + 32, 200), Math.max(b.height + 100, 150)];
  const r = svg.getBoundingClientRect(), s = Math.max(view[2] / r.width, view[3] / r.height);
  if (s < 0.8) {  // never larger than life, more or less
    const w = r.width * 0.8, h = r.height * 0.8;
    view = [view[0] - (w - view[2]) / 2, view[1] - (h - view[3]) / 2, w, h];
  }
  if (!whole && s > 1.7) {  // a large drawing begins at its top left corner, and stays readable
    const small = Math.min(Math.max(1.7, view[2] / r.width), 2), w = r.width * small;
    view = [view[2] > w ? view[0] : b.x + (b.width - w) / 2, b.y - 52, w, r.height * small];
  }
  look();
}
function pixel() {
  const r = svg.getBoundingClientRect();
  return Math.max(view[2] / r.width, view[3] / r.height);
}
function at(event) {
  const inverse = svg.getScreenCTM().inverse();
  const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(inverse);
  return [p.x, p.y];
}
svg.addEventListener("wheel", event => {
  event.preventDefault();
  const [x, y] = at(event), s = Math.exp(event.deltaY * 0.0015);
  view = [x - (x - view[0]) * s, y - (y - view[1]) * s, view[2] * s, view[3] * s];
  look();
}, { passive: false });
let held = null, moved = false;
svg.addEventListener("pointerdown", event => {
  held = [event.clientX, event.clientY]; moved = false;
});
window.addEventListener("pointermove", event => {
  if (!held) return;
  const dx = event.clientX - held[0], dy = event.clientY - held[1];
  if (!moved && Math.hypot(dx, dy) < 4) return;
  const s = pixel();
  moved = true; held = [event.clientX, event.clientY];
  view[0] -= dx * s; view[1] -= dy * s;
  look();
});
window.addEventListener("pointerup", () => { held = null; });
svg.addEventListener("click", event => {
  if (moved) return;
  const box = event.target.closest(".aj-box.aj-group");
  const inner = event.target.closest(".aj-box");
  if (!box || (inner !== box && !inner.classList.contains("aj-group"))) return;
  const before = box.getBoundingClientRect();
  show(box, !isOpen(box));
  arrangeAll();
  const after = box.getBoundingClientRect(), s = pixel();  // the box stays under the mouse
  view[0] += (after.x + after.width / 2 - before.x - before.width / 2) * s;
  view[1] += (after.y - before.y) * s;
  look();
});
function showAll(open) {
  for (const box of svg.querySelectorAll(".aj-box.aj-group")) show(box, open);
  arrangeAll();
  fit(false);
}
document.getElementById("aj-fit").addEventListener("click", () => fit());
document.getElementById("aj-all").addEventListener("click", () => showAll(true));
document.getElementById("aj-none").addEventListener("click", () => showAll(false));
fit(false);
"""


def script() -> str:
    """The text of the script, with the sizes used in drawings."""
    sizes = ", ".join(f"{name} = {size:g}" for name, size in _SIZES.items())
    return f'"use strict";\nconst {sizes};\n{_SCRIPT.strip()}\n'
