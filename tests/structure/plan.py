"""Draws the structure into `docs/architecture.md`: the rooms and their imports, and the machine record.

python -m tests.structure.plan
"""

import networkx as nx

from tests.structure.imports import ROOT, arrows, docstring, room_of
from tests.structure.layers import EXCEPTIONS, LAYERS, excepted
from tests.structure.state_access import machine_accesses, owners

PAGE = ROOT / "docs" / "architecture.md"
_GROUPS = {"isa": "what a kernel computes", "memory": "memory system", "workloads": "what is run"}


def _graph() -> nx.DiGraph:
    """The rooms, with an arrow to each room that one imports from."""
    graph = nx.DiGraph()
    graph.add_nodes_from(LAYERS)
    for room, seen in arrows().items():
        for other, found in seen.items():
            if not all(excepted(each.module, room, other) for each in found):
                graph.add_edge(room, other)
    return graph


def drawing() -> str:
    """The rooms as a Mermaid flowchart, without the arrows that follow from others."""
    least = nx.transitive_reduction(_graph())
    lines = ["```mermaid", "flowchart TB"]
    grouped = {
        top: [room for room in LAYERS if room.split(".")[0] == top and len(least[room]) + least.in_degree(room)]
        for top in _GROUPS
    }
    for top, rooms in grouped.items():
        lines += [f"  subgraph {top}_[{top}: {_GROUPS[top]}]", *(f"    {room}" for room in rooms), "  end"]
    lines += [f"  {room} --> {other}" for room in reversed(LAYERS) for other in LAYERS if least.has_edge(room, other)]
    return "\n".join([*lines, "```"])


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nobody"


def rooms() -> str:
    """The table of rooms: what each holds, and from which others it imports."""
    graph = _graph()
    lines = ["| room | holds | knows |", "|---|---|---|"]
    for room in LAYERS:
        holds = docstring(room).partition("\n")[0].rstrip(".")
        lines.append(f"| `{room}` | {holds} | {_names([other for other in LAYERS if graph.has_edge(room, other)])} |")
    exceptions = [f"- `{module}` imports `{seen}`: {why}" for (module, seen), why in EXCEPTIONS.items()]
    return "\n".join([*lines, "", "Beside the rows:", "", *exceptions] if exceptions else lines)


def record() -> str:
    """The table of the machine record: who declares, writes and reads each of its components."""
    lines = ["| component | declared in | written by | read by the rooms |", "|---|---|---|---|"]
    for component, owner in sorted(owners().items(), key=lambda item: list(LAYERS).index(room_of(item[1]))):
        mine = [access for access in machine_accesses() if access.component == component]
        writers = sorted({access.module for access in mine if access.written})
        readers = {room_of(access.module) for access in mine if not access.written} - {room_of(owner)}
        readers_in_order = [room for room in LAYERS if room in readers]
        lines.append(f"| `m.{component}` | `{owner}` | {_names(writers)} | {_names(readers_in_order)} |")
    return "\n".join(lines)


DRAWN = {"drawing": drawing, "rooms": rooms, "record": record}


def drawn_anew(page: str) -> str:
    """The page with what stands between each pair of marks drawn anew."""
    for name, draw in DRAWN.items():
        head, begin, rest = page.partition(f"<!-- drawn from the code: {name} -->\n")
        _, end, tail = rest.partition("<!-- end -->")
        assert begin and end, f"{PAGE.name} has no place for: {name}"
        page = f"{head}{begin}\n{draw()}\n\n{end}{tail}"
    return page


if __name__ == "__main__":
    PAGE.write_text(drawn_anew(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
