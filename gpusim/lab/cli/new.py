"""`gpusim new publication`: a folder that a publication of one's own begins with."""

import re
from pathlib import Path
from typing import Annotated

import typer

from gpusim.base.errors import UserError
from gpusim.base.files import folder, write_together

TEMPLATE = Path(__file__).with_name("templates") / "publication"
_STORE = '[store]\npath = "results.db"\n'


def new_publication(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the publication, and of its folder here.")],
) -> None:
    """Make a folder with a sweep, a figure and claims of it, which runs in a minute and is then changed."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise UserError(f"{name}: is no name of a publication: letters, digits, - and _ are allowed")
    target = Path(name)
    if target.exists():
        raise UserError(f"{target}: is there already; another name, or another folder, is needed")

    def text(file: str) -> str:
        return (TEMPLATE / file).read_text(encoding="utf-8").replace("NAME", name)

    folder(target)
    folder(target / name)
    files = {
        target / f"{name}.yaml": "NAME.yaml",
        target / name / "zeros.yaml": "zeros.yaml",
        target / "sweep.yaml": "sweep.yaml",
        target / "README.md": "README.md",
    }
    write_together({**{path: text(file) for path, file in files.items()}, target / "gpusim.toml": _STORE})
    print(f"{target}: a publication that runs as it is; {target}/README.md says how")
