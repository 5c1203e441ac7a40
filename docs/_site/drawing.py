"""Draws the flowcharts of pages as SVG, so that the site needs no program from elsewhere to show them."""

import re
from html import escape

from gpusim.base.formats import FIXED_0

CHARACTER, BOX, GAP, ROW, MARGIN, ACROSS = 7.2, 26, 14, 62, 12, 4
_FENCE = re.compile(r"```mermaid\n(.*?)\n```", re.DOTALL)
_EDGE = re.compile(r"^\s*(\S+) --> (\S+)$")
_ROW = re.compile(r'^\s*subgraph \S+\["(.*)"\]$')


def drawn(markdown: str) -> str:
    """The page with its flowcharts as drawings."""
    return _FENCE.sub(lambda found: svg(found[1]), markdown)


def svg(flowchart: str) -> str:
    """A flowchart's boxes in rows, those of a subgraph together, with its arrows."""
    edges = [(found[1], found[2]) for line in flowchart.splitlines() if (found := _EDGE.match(line))]
    rows = _subgraphs(flowchart) or _levels(edges)
    places: dict[str, tuple[float, float, float]] = {}  # left, top, width
    titles, top, width = [], MARGIN, 0.0
    for title, names in rows:
        if title:
            titles.append(f'<text x="{MARGIN}" y="{top + 10}" font-weight="bold">{escape(title)}</text>')
            top += 16
        for start in range(0, len(names), ACROSS):
            left = float(MARGIN)
            for name in names[start : start + ACROSS]:
                places[name] = (left, top, len(name) * CHARACTER + 16)
                left += places[name][2] + GAP
            width = max(width, left)
            top += BOX + GAP
        top += ROW - BOX - GAP
    lines = [_arrow(places[a], places[b]) for a, b in edges]
    boxes = [
        f'<rect x="{FIXED_0(x)}" y="{FIXED_0(y)}" width="{FIXED_0(w)}" height="{BOX}" rx="4"'
        ' class="box" stroke="currentColor"/>'
        f'<text x="{FIXED_0(x + 8)}" y="{FIXED_0(y + 17)}" font-family="monospace">{escape(name)}</text>'
        for name, (x, y, w) in places.items()
    ]
    box = f"0 0 {FIXED_0(width)} {FIXED_0(top)}"
    head = f'<svg viewBox="{box}" xmlns="http://www.w3.org/2000/svg" class="drawing" role="img"'
    style = 'font-size="12" fill="currentColor" style="max-width: 100%; width: ' + f'{FIXED_0(width)}px">'
    marker = (
        '<marker id="head" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0,0 L6,3 L0,6 z" fill="currentColor" opacity="0.5"/></marker>'
    )
    return f"{head} {style}<defs>{marker}</defs>{''.join([*lines, *boxes, *titles])}</svg>"


def _subgraphs(flowchart: str) -> list[tuple[str, list[str]]]:
    rows: list[tuple[str, list[str]]] = []
    for line in flowchart.splitlines()[1:]:
        if found := _ROW.match(line):
            rows.append((found[1], []))
        elif rows and line.strip() != "end" and "-->" not in line:
            rows[-1][1].append(line.strip())
    return rows


def _levels(edges: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Boxes by the longest way to them."""
    level = {name: 0 for edge in edges for name in edge}
    for _ in level:
        for above, below in edges:
            level[below] = max(level[below], level[above] + 1)
    return [("", [name for name in level if level[name] == row]) for row in range(max(level.values()) + 1)]


def _arrow(above: tuple[float, float, float], below: tuple[float, float, float]) -> str:
    (x, y, w), (u, v, p) = above, below
    start, end = (y + BOX, v) if v > y else (y, v + BOX)
    if v == y:  # below both boxes
        start = end = y + BOX
    middle = (start + end) / 2 + (BOX / 2 if v == y else 0)
    x, u = x + w / 2, u + p / 2
    first, second, third, fourth = (
        f"{FIXED_0(at)},{FIXED_0(height)}" for at, height in ((x, start), (x, middle), (u, middle), (u, end))
    )
    path = f"M{first} C{second} {third} {fourth}"
    return f'<path d="{path}" fill="none" stroke="currentColor" opacity="0.35" marker-end="url(#head)"/>'
