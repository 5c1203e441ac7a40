"""The tutorial's cells run as a notebook runs them, and its outputs stored: `python -m docs._site.notebook`."""

import ast
import json
import os
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "tutorial.ipynb"


def run(source: str, names: dict[str, Any]) -> Any:
    """Execute a cell as a notebook does; returns the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names) if last is not None else None


def shown(value: Any) -> dict[str, list[str]]:
    """What a notebook keeps of a value: text, and HTML or a drawing where it has one."""
    kept = {"text/plain": repr(value)}
    for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
        if hasattr(value, method):
            kept[kind] = getattr(value, method)()
    return {kind: text.splitlines(keepends=True) for kind, text in kept.items()}


def renewed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells, run in an empty folder."""
    names: dict[str, Any] = {"__name__": "notebook"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        value = run("".join(cell["source"]), names)
        cell["execution_count"] = count
        cell["outputs"] = (
            []
            if value is None
            else [{"data": shown(value), "execution_count": count, "metadata": {}, "output_type": "execute_result"}]
        )
    return notebook


if __name__ == "__main__":
    whole = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        renewed(whole)
    NOTEBOOK.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
