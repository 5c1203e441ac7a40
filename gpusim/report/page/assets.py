"""Files that lie beside a page's code, and how its content security policy names what of them may run."""

import base64
import hashlib
from pathlib import Path


def beside(module: str, name: str) -> str:
    """Read the text of the file `name` in the folder of a module, given that module's `__file__`."""
    return Path(module).with_name(name).read_text(encoding="utf-8")


def hashed(text: str) -> str:
    """Return a script or a style as a source of a content security policy: by its SHA-256."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
