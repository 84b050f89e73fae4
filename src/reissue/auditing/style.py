"""How the page of a report looks, on screen and on paper."""

from __future__ import annotations

STYLE = """\
:root { color-scheme: light; --ink: #1d2530; --soft: #5b6572; --line: #d8dde3; --good: #2c7a4b; --bad: #b4432f;
  --open: #a87614; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f5f7; color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 62rem; margin: 2rem auto; padding: 2.5rem 3rem; background: white; border: 1px solid var(--line); }
h1 { font-size: 1.7rem; margin: 0 0 1rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .8rem; padding-top: .9rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.7rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1.1rem 0 .2rem; }
p { margin: .4rem 0 .8rem; }
li { margin-bottom: .45rem; }
.small { color: var(--soft); font-size: .86rem; font-weight: normal; }
.verdict { font-size: 1.15rem; font-weight: 600; padding: .9rem 1.2rem; border-left: .5rem solid; background: #f7f8fa; }
.verdict.passed { border-color: var(--good); }
.verdict.failed { border-color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0 1rem; font-size: .92rem; }
th, td { padding: .38rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.met { color: var(--good); font-weight: 600; white-space: nowrap; }
td.not-met { color: var(--bad); font-weight: 600; white-space: nowrap; }
td.undecided { color: var(--open); font-weight: 600; white-space: nowrap; }
.words th { width: 30%; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; }
@media print {
  body { background: white; font-size: 11pt; }
  main { margin: 0; padding: 0; border: 0; max-width: none; }
  h2, h3, h4 { break-after: avoid; }
  figure, tr, li { break-inside: avoid; }
}
@media (max-width: 40rem) { main { margin: 0; padding: 1.2rem; border: 0; } }
"""
