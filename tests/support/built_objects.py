"""Sources of the shipped code objects: `python -m tests.support.built_objects` compiles them and notes digests.

To compile all of them takes most of a minute, so that the tests compare digests, and the nightly ones compile.
"""

import hashlib
import json
from pathlib import Path

from workloads.toolchain.build import (
    DEFAULT_GPU,
    LANGUAGE_FLAGS,
    OPENCL_LIBRARY,
    SHIPPED_DIRS,
    SHIPPED_FLAGS,
    SHIPPED_GPUS,
    check_all,
    code_object_path,
    kernel_sources,
)

NOTED = Path(__file__).parents[1] / "data" / "kernels" / "built.json"


def digests() -> dict[str, str]:
    """Return a digest by the object's place: of its source, what else the build reads, its flags and the object.

    An object without a source has no digest.
    """
    found = {}
    flags = repr((SHIPPED_FLAGS, LANGUAGE_FLAGS)).encode()
    for folder in SHIPPED_DIRS:
        found |= {f"{folder.name}/{path.name}": "no source" for path in folder.glob("*.hsaco")}
        headers = [path for path in sorted(folder.iterdir()) if path.suffix in (".h", ".inc")]
        for source in kernel_sources(folder):
            for gpu in SHIPPED_GPUS.get(folder, (DEFAULT_GPU,)):
                target = code_object_path(source.stem, folder, gpu)
                digest = hashlib.sha256(flags)
                for path in (source, *headers, OPENCL_LIBRARY, target):
                    digest.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
                found[f"{folder.name}/{target.name}"] = digest.hexdigest()[:16]
    return found


if __name__ == "__main__":
    if problems := check_all():
        raise SystemExit("\n".join(problems))
    NOTED.write_text(json.dumps(digests(), indent=1) + "\n", encoding="utf-8")
