"""`gpusim report`: results as one HTML page, and its pictures."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.files import folder, write_together
from gpusim.base.outputs import check_outputs
from gpusim.base.pictures import require_matplotlib
from gpusim.base.progress import Reporter

MOST_BYTES = 256 << 20  # of a result's file: read whole


def report_command(
    files: Sequence[Path], html: Path, pictures: Path | None, sources: Path | None, quiet: bool
) -> int:  # fmt: skip
    """Make the page of the results in `files`, and the pictures in a folder; returns the exit code."""
    check_outputs({"--html": html}, files)
    require_matplotlib("report", "")
    from gpusim.report.page.page import page, picture_files
    from gpusim.report.result import read

    results = {name: read(_json(path), str(path)) for name, path in _names(files).items()}
    if not results:
        raise UserError("FILE: at least one result is needed, which gpusim run, exec or net has written with --json")
    written: dict[Path, str | bytes] = {html: page(results, _lines(sources))}
    if pictures is not None:
        held = folder(pictures)
        written |= {held / name: content for name, content in picture_files(results).items()}
        check_outputs({f"--pictures {path.name}": path for path in written if path != html}, files)
    write_together(written)
    reporter = Reporter(quiet)
    reporter.say(f"{html}: {len(results)} result{'s' * (len(results) != 1)}")
    if pictures is not None:
        reporter.say(f"{pictures}: {len(written) - 1} files")
    return 0


def _names(files: Sequence[Path]) -> dict[str, Path]:
    """The files by what the page calls them: their names, with folders where two are called the same."""
    short = [path.name for path in files]
    found = {path.name if short.count(path.name) == 1 else str(path): path for path in files}
    if len(found) != len(files):
        raise UserError("FILE: one of the files is named twice")
    return found


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path}: is larger than {MOST_BYTES >> 20} MiB: no result of gpusim's")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is no JSON: {error}") from None


def _lines(sources: Path | None) -> dict[str, list[str]]:
    """Lines of the source files in a folder, by the files' names."""
    if sources is None:
        return {}
    if not sources.is_dir():
        raise UserError(f"--source {sources}: is no folder")
    kinds = (".cl", ".hip", ".cpp", ".s", ".h", ".ll")
    found = sorted(path for path in sources.iterdir() if path.suffix in kinds and path.is_file())
    return {path.name: path.read_text(encoding="utf-8", errors="replace").splitlines() for path in found}
