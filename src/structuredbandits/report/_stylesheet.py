"""The stylesheet of the page, for light and dark, wide and narrow screens."""

from __future__ import annotations

STYLE = """
:root { --ink: #1d2530; --soft: #566170; --line: #dfe4ea; --paper: #fff; --yes: #00694e;
  --no: #a33b00; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf1; --soft: #a9b3c0; --line: #37414e;
  --paper: #14191f; --yes: #5fd0ab; --no: #ff9d66; --link: #7db8f5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem 1rem 4rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .2rem; padding-top: 1.2rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.2rem 0 .2rem; }
p, li { max-width: 48rem; } p { margin: .4rem 0; }
a { color: var(--link); } .soft { color: var(--soft); }
.pictures { display: flex; flex-wrap: wrap; gap: .8rem; align-items: flex-start; }
figure { margin: .6rem 0; padding: .3rem; border-radius: .4rem; background: #fff;
  max-width: 100%; overflow-x: auto; }
img { max-width: 100%; height: auto; display: block; }
.held, .failed { font-weight: 600; white-space: nowrap; }
.held { color: var(--yes); } .failed { color: var(--no); }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .4rem 0; }
dt { color: var(--soft); } dd { margin: 0; }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .22rem .9rem .22rem 0; text-align: left; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums; vertical-align: top; }
.table th, .table td { white-space: nowrap; }
@media (max-width: 40rem) { .claims td { display: block; border: 0; padding: 0; }
  .claims tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); } }
"""
