"""The script of the page of all stages: it marks the line that is pointed at, or kept, in every
stage."""

from __future__ import annotations

SCRIPT = r"""
const wall = document.querySelector(".aj-wall"), said = document.getElementById("aj-said");
const columns = [...wall.querySelectorAll(".aj-col")], hint = said.innerHTML;
const linesOf = el => el.dataset.l ? el.dataset.l.split(" ") : [];
const byLine = new Map();  // line: the rows and titles that are from it
for (const el of wall.querySelectorAll("[data-l]"))
  for (const line of linesOf(el)) {
    if (!byLine.has(line)) byLine.set(line, []);
    byLine.get(line).push(el);
  }
let marked = [], near = [], kept = null;

const isRow = el => el.classList.contains("r");
const isOpen = column => !column.classList.contains("shut");
const matches = column => marked.filter(el => column.contains(el));

function textOf(row) {
  const words = row.cloneNode(true);
  words.firstElementChild.remove();
  return words.textContent.trim();
}

const order = new Map([...wall.querySelectorAll("[data-l]")].map((el, k) => [el, k]));

function show(lines) {  // mark all that is from some lines; "near" is what is from others as well
  for (const el of [...marked, ...near]) el.classList.remove("on", "near");
  const found = [...new Set(lines.flatMap(line => byLine.get(line) || []))];
  found.sort((a, b) => order.get(a) - order.get(b));
  const isOnly = el => isRow(el) && linesOf(el).every(line => lines.includes(line));
  marked = found.filter(isOnly);
  near = found.filter(el => !isOnly(el));
  for (const el of marked) el.classList.add("on");
  for (const el of near) el.classList.add("near");
  const counts = new Map(columns.map(column => [column, 0]));
  for (const el of marked) {
    const column = el.closest(".aj-col");
    counts.set(column, counts.get(column) + 1);
  }
  for (const [column, n] of counts)
    column.querySelector("output").textContent = lines.length ? n : "";
  say(lines, counts);
}

function say(lines, counts) {
  if (!lines.length) { said.innerHTML = hint; return; }
  const row = (byLine.get(lines[0]) || []).find(el => columns[0].contains(el));
  const parts = [...counts].slice(1).filter(([, n]) => n)
    .map(([column, n]) => `${column.dataset.name} ${n}`);
  const line = document.createElement("code");
  line.textContent = lines.length === 1 && row ? textOf(row) : "";
  said.textContent = lines.length === 1 ? `line ${lines[0]} ` : `lines ${lines.join(", ")} `;
  if (line.textContent) said.append(line);
  said.append(parts.length ? `: ${parts.join(", ")}` : ": nothing is computed for it alone");
}

function reveal(el) {
  for (let d = el.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
}

function scroll(el) {  // only the body of its column
  reveal(el);
  const body = el.closest(".aj-body");
  const gap = el.getBoundingClientRect().top - body.getBoundingClientRect().top;
  if (gap < 30 || gap > body.clientHeight * 0.8) body.scrollTop += gap - body.clientHeight * 0.25;
}

function keep(lines, from) {  // until Escape, or until something else is kept
  kept = lines.length ? lines : null;
  wall.classList.toggle("kept", !!kept);
  show(lines);
  history.replaceState(null, "", kept ? `#L${kept[0]}` : location.pathname + location.search);
  for (const column of columns)
    if (kept && isOpen(column) && !column.contains(from)) {
      const first = matches(column)[0];
      if (first) scroll(first);
    }
}

function pointAt(el) { if (!kept) show(el ? linesOf(el) : []); }

wall.addEventListener("mouseover", e => pointAt(e.target.closest("[data-l]")));
wall.addEventListener("mouseleave", () => pointAt(null));
wall.addEventListener("focusin", e => { if (isRow(e.target)) pointAt(e.target); });
wall.addEventListener("click", e => {
  const head = e.target.closest(".aj-head");
  if (head) {
    const shut = head.parentElement.classList.toggle("shut");
    head.setAttribute("aria-expanded", String(!shut));
    const first = !shut && kept && matches(head.parentElement)[0];
    if (first) scroll(first);
    return;
  }
  const row = e.target.closest(".r");
  if (!row || String(getSelection())) return;  // who selects a text does not click
  const lines = linesOf(row), same = kept && kept.join() === lines.join();
  keep(same ? [] : lines, row);
});

// -- keys --------------------------------------------------------------------------------

const seen = body => [...body.querySelectorAll(".r[data-l]")].filter(el => el.offsetParent);
const focus = el => { el.tabIndex = -1; scroll(el); el.focus({ preventScroll: true }); };

function beside(column, step, row) {
  const open = columns.filter(isOpen), next = open[open.indexOf(column) + step];
  if (!next) return;
  if (row) show(kept || linesOf(row));
  const body = next.querySelector(".aj-body"), there = matches(next)[0] || seen(body)[0];
  if (there) focus(there); else body.focus();
}

function along(column, step, row, every) {
  const rows = every ? seen(column) : matches(column);
  const at = rows.indexOf(row), next = at < 0 ? rows[0] : rows[at + step];
  if (next) focus(next);
}

document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === "Escape") { keep([], null); return; }
  const column = document.activeElement.closest(".aj-col") || columns[0];
  const row = document.activeElement.closest(".r");
  const inBody = document.activeElement === document.body ||
    document.activeElement.closest(".aj-body") && !document.activeElement.closest("summary");
  if (!inBody) return;
  const move = { ArrowDown: () => along(column, 1, row, true),
    ArrowUp: () => along(column, -1, row, true),
    ArrowRight: () => beside(column, 1, row), ArrowLeft: () => beside(column, -1, row),
    n: () => along(column, 1, row, false), p: () => along(column, -1, row, false),
    Enter: () => row && keep(linesOf(row), row), " ": () => row && keep(linesOf(row), row),
  }[e.key];
  if (move) { e.preventDefault(); move(); }
});

const first = decodeURIComponent(location.hash).match(/^#L([\d.]+)$/);
if (first && byLine.has(first[1])) keep([first[1]], null);
"""
