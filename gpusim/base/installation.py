"""How this installation came here, and so which command adds an extra to it."""

import sys
from pathlib import Path
from typing import Any

_CLONE = Path(__file__).resolve().parents[2]


def install_command(extra: str) -> str:
    """Return the command that installs an extra from the clone, folder or address that gpusim itself came from."""
    import shlex

    return shlex.join([sys.executable, "-m", "pip", "install", *_source(_direct_url(), extra)])


def _direct_url() -> dict[str, Any]:
    """Return where the installed distribution came from (PEP 610); empty for one from an index, and for none."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution("gpusim").read_text("direct_url.json")
        found = json.loads(text) if text else {}
    except (PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _source(origin: dict[str, Any], extra: str) -> list[str]:
    from urllib.parse import unquote, urlsplit

    url = str(origin.get("url", ""))
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return [f"gpusim[{extra}] @ {vcs['vcs']}+{url}@{vcs.get('commit_id', 'HEAD')}"]
    if url.startswith("file:"):
        path = Path(unquote(urlsplit(url).path))
        editable = origin.get("dir_info", {}).get("editable", False)
        return [*["-e"] * editable, f"{path}[{extra}]"]
    if url:
        return [f"gpusim[{extra}] @ {url}"]
    if (_CLONE / "pyproject.toml").is_file():  # run from a clone without being installed
        return ["-e", f"{_CLONE}[{extra}]"]
    return [f"gpusim[{extra}]"]
