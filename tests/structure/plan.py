"""Draws the structure: the packages and their imports, and the machine record, into the page on the architecture.

The README gets the groups of packages, a line each.

python -m tests.structure.plan
"""

from collections.abc import Callable, Mapping

import networkx as nx

from tests.structure.imports import ROOT, arrows, docstring, package_of
from tests.structure.layers import EXCEPTIONS, LAYERS, NEVER, ONLY_BY, ORDER, excepted
from tests.structure.state_access import machine_accesses, owners

PAGE, README = ROOT / "docs/explanation/architecture.md", ROOT / "README.md"


def _graph() -> nx.DiGraph:
    """The packages, with an arrow to each package that one imports from."""
    graph = nx.DiGraph()
    graph.add_nodes_from(ORDER)
    for package, seen in arrows().items():
        for other, found in seen.items():
            if not all(excepted(each.module, package, each.imported, other) for each in found):
                graph.add_edge(package, other)
    return graph


def drawing() -> str:
    """The packages as a Mermaid flowchart, without the arrows that follow from others."""
    least = nx.transitive_reduction(_graph())
    lines = ["```mermaid", "flowchart TB"]
    for number, layer in reversed(list(enumerate(LAYERS))):
        lines += [
            f'  subgraph layer{number}["{layer.name}"]',
            *(f"    {package}" for package in layer.packages),
            "  end",
        ]
    lines += [
        f"  {package} --> {other}" for package in reversed(ORDER) for other in ORDER if least.has_edge(package, other)
    ]
    return "\n".join([*lines, "```"])


def _groups() -> nx.DiGraph:
    """The groups of packages, such as `gpusim.model` and `isa`, with an arrow to each group that one imports from."""
    groups = nx.DiGraph()
    for package in ORDER:
        groups.add_node(_group_of(package))
    for package, other in _graph().edges:
        if _group_of(package) != _group_of(other):
            groups.add_edge(_group_of(package), _group_of(other))
    return nx.transitive_reduction(groups)


def _group_of(package: str) -> str:
    return ".".join(package.split(".")[: 2 if package.startswith("gpusim") else 1])


def groups() -> str:
    """The groups as a Mermaid flowchart, without the arrows that follow from others."""
    arrows = sorted(_groups().edges)
    return "\n".join(["```mermaid", "flowchart TB", *(f"  {group} --> {other}" for group, other in arrows), "```"])


def package_groups() -> str:
    """The groups with the first line of their docstrings, highest first."""
    last = {_group_of(package): place for place, package in enumerate(ORDER)}
    order = sorted((group for group in last if group != "gpusim"), key=last.__getitem__, reverse=True)
    lines = [f"{group:<16}{docstring(group).partition(chr(10))[0].rstrip('.')}" for group in order]
    return "\n".join(["```", *lines, "```"])


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nobody"


def package_table() -> str:
    """The table of packages: what each contains, and from which others it imports."""
    graph = _graph()
    lines = ["| layer, package | contents | imports from |", "|---|---|---|"]
    for layer in LAYERS:
        lines.append(f"| **{layer.name}**{', independent of each other' if layer.apart else ''} | | |")
        for package in layer.packages:
            holds = docstring(package).partition("\n")[0].rstrip(".")
            lines.append(
                f"| `{package}` | {holds} | {_names([other for other in ORDER if graph.has_edge(package, other)])} |"
            )
    return "\n".join(lines)


def prohibitions() -> str:
    """Write what is forbidden beyond the layers' order, and what is excepted."""
    lines = [
        f"- {_names(packages.split())} may not import {_names(seen.split())}: {why}"
        for (packages, seen), why in NEVER.items()
    ]
    lines += [
        f"- `{package}` is only for {_names(names.split() or ['itself'])}: {why}"
        for package, (names, why) in ONLY_BY.items()
    ]
    exceptions = [f"- `{module}` imports `{seen}`: {why}" for (module, seen), why in EXCEPTIONS.items()]
    return "\n".join([*lines, "", "All the same:", "", *exceptions])


def record() -> str:
    """The table of the machine record: who declares, writes and reads each of its components."""
    lines = ["| component | declared in | written by | read by the packages |", "|---|---|---|---|"]
    for component, owner in sorted(owners().items(), key=lambda item: ORDER.index(package_of(item[1]))):
        mine = [access for access in machine_accesses() if access.component == component]
        writers = sorted({access.module for access in mine if access.written})
        readers = {package_of(access.module) for access in mine if not access.written} - {package_of(owner)}
        readers_in_order = [package for package in ORDER if package in readers]
        lines.append(f"| `m.{component}` | `{owner}` | {_names(writers)} | {_names(readers_in_order)} |")
    return "\n".join(lines)


DRAWN = {
    "groups": groups,
    "drawing": drawing,
    "packages": package_table,
    "prohibitions": prohibitions,
    "record": record,
}
IN_README = {"packages": package_groups}


def drawn_anew(page: str, drawn: Mapping[str, Callable[[], str]] = DRAWN) -> str:
    """The page with what stands between each pair of marks drawn anew."""
    for name, draw in drawn.items():
        head, begin, rest = page.partition(f"<!-- drawn from the code: {name} -->\n")
        _, end, tail = rest.partition("<!-- end -->")
        assert begin and end, f"no page has a place for: {name}"
        page = f"{head}{begin}\n{draw()}\n\n{end}{tail}"
    return page


if __name__ == "__main__":
    PAGE.write_text(drawn_anew(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    README.write_text(drawn_anew(README.read_text(encoding="utf-8"), IN_README), encoding="utf-8")
