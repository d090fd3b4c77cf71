"""The style of the page of all stages, which extends the style sheet of all pages."""

from __future__ import annotations

STYLE = """
body { display: flex; flex-direction: column; height: 100vh; overflow: hidden; }
.aj-top { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 18px;
  padding: 6px 12px; border-bottom: 1px solid var(--aj-line); }
.aj-top h1 { font-size: 15px; margin: 0; } .aj-top h1 code { font-size: 15px; }
.aj-top p { margin: 0; } #aj-said { flex: 1; min-width: 16em; }
#aj-said code { background: var(--aj-soft); padding: 0 4px; border-radius: 4px; }
.aj-keys { color: var(--aj-faint); font-size: 12px; }
kbd { font: 11px ui-monospace, "DejaVu Sans Mono", monospace; border: 1px solid var(--aj-line);
  border-radius: 4px; padding: 0 4px; background: var(--aj-soft); color: var(--aj-ink); }
.aj-wall { flex: 1; min-height: 0; display: flex; overflow-x: auto; }
.aj-col { flex: 1 0 21em; min-width: 0; display: flex; flex-direction: column;
  border-right: 1px solid var(--aj-line); }
.aj-col:first-child { flex: 1 0 23em; }
.aj-head { font: inherit; text-align: left; color: var(--aj-ink); background: var(--aj-soft);
  border: 0; border-bottom: 1px solid var(--aj-line); padding: 5px 10px; cursor: pointer;
  display: flex; gap: 8px; align-items: baseline; white-space: nowrap; overflow: hidden; }
.aj-head span { font-weight: 600; } .aj-head small { color: var(--aj-faint); }
.aj-head output { margin-left: auto; font-variant-numeric: tabular-nums; }
.aj-head:hover, summary:hover { background: var(--aj-group); }
.aj-body { flex: 1; overflow: auto; padding: 2px 0 40vh; }
.aj-col.shut { flex: 0 0 32px; } .aj-col.shut .aj-body { display: none; }
.aj-col.shut .aj-head { flex: 1; writing-mode: vertical-rl; border-bottom: 0; padding: 10px 6px; }
.aj-col.shut .aj-head output { margin: 0; }
.aj-file { padding: 4px 10px 0; color: var(--aj-faint); }
.aj-rows { font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, monospace; white-space: pre;
  width: max-content; min-width: 100%; padding: 4px 0; content-visibility: auto;
  contain-intrinsic-size: auto 60em auto 900px; }
.autojit details { margin: 0; border-top: 1px solid var(--aj-line); }
.autojit summary { padding: 3px 10px; white-space: nowrap; }
.autojit summary code { color: var(--aj-ink); }
.r { padding-right: 10px; border-left: 4px solid transparent; min-height: 1.5em; }
.r > b { display: inline-block; width: 4.2em; padding-right: 1em; box-sizing: border-box;
  text-align: right; font-weight: 400; color: var(--aj-faint); user-select: none; }
.r[data-l] { cursor: pointer; border-left-color: hsl(var(--h) 62% 52%);
  background: hsl(var(--h) 62% 52% / 0.09); }
.r.m[data-l] { border-left-color: var(--aj-line); background: none; }
.r.on { background: hsl(var(--h) 70% 50% / 0.3); }
.r.m.on { background: color-mix(in srgb, var(--aj-name) 22%, transparent); }
.r.near { border-left-color: var(--aj-name); }
summary.near { box-shadow: inset 4px 0 var(--aj-name); }
.aj-wall.kept .r:not(.on) { opacity: 0.5; } .aj-wall.kept .r.near { opacity: 0.8; }
.r.on > b { color: var(--aj-ink); font-weight: 600; }
.r:focus, .aj-body:focus-visible, summary:focus-visible, .aj-head:focus-visible {
  outline: 2px solid var(--aj-name); outline-offset: -2px; }
@media (max-width: 800px) {
  body { height: auto; overflow: auto; } .aj-keys { display: none; }
  .aj-top { position: sticky; top: 0; background: var(--aj-paper); z-index: 1; }
  .aj-wall { flex-direction: column; overflow: visible; }
  .aj-col, .aj-col:first-child, .aj-col.shut { flex: none; border-right: 0; }
  .aj-col.shut .aj-head { writing-mode: inherit; padding: 5px 10px;
    border-bottom: 1px solid var(--aj-line); }
  .aj-col.shut .aj-head output { margin-left: auto; }
  .aj-body { max-height: 60vh; padding-bottom: 2px; }
}
@media print { .aj-body, body { overflow: visible; height: auto; } }
"""
