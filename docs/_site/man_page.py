"""The manual page gpusim(1), from the command line itself: `python -m docs._site.man_page` writes man/gpusim.1."""

from collections.abc import Iterator
from pathlib import Path

from gpusim.cli.lazy import CommandGroup
from gpusim.cli.main import all_sections, command_line
from gpusim.config.files import FOLDERS

FILE = Path(__file__).parents[2] / "man/gpusim.1"
EXIT_CODES = {
    "0": "The runs ended, and their results are as expected where something was expected. gpusim hip has the exit code "
    "of its program.",
    "1": "A result is not as expected, or a run was stopped by a limit.",
    "2": "The command line or a file is wrong, or a kernel has a fault; a line on standard error says what to mend.",
    "130": "Interrupted by Ctrl-C, SIGTERM or SIGHUP.",
}
VARIABLES = {
    "GPUSIM_CACHE_DIR": "Folder of the compiled core and of the runtime library for programs.",
    "GPUSIM_DEVICE_LIBRARY": "Folder of AMD's device library, or none.",
    "GPUSIM_VENDOR_ROOT": "Folder with the libraries of another system, such as rocBLAS.",
    "ROCM_PATH": "Where ROCm is installed, for HIP's headers.",
    "NO_COLOR": "Colours are left out.",
}
FILES = {
    "gpusim.toml": "In the current folder or one above it: names the store of a project.",
    "gpusim.db": "The store, where no other is named.",
}


def man_page() -> str:
    """Return the page in the macros of man(7)."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    root = command_line()
    yield '.TH GPUSIM 1 "" "gpusim" "User Commands"'
    yield from (".SH NAME", "gpusim \\- cycle\\-level simulator of AMD GPUs on real machine code")
    yield from (".SH SYNOPSIS", ".B gpusim", ".I COMMAND", "[OPTIONS] [ARGUMENTS]")
    yield from (".SH DESCRIPTION", _escape(" ".join(root.help.split())))
    yield _escape("gpusim COMMAND --help lists the options of a command; gpusim COMMAND takes names of shipped files:")
    yield from _tagged({name: f"{folder.what}: {_use(folder.use)}" for name, folder in FOLDERS.items() if name})
    for title, entries in all_sections().items():
        yield f".SH {_escape(title.upper())}"
        for name, entry in entries.items():
            if isinstance(entry, CommandGroup):
                below = {f"{name} {one}": entry.commands[one].text for one in entry.commands}
                yield from _tagged({f"gpusim {one}": text for one, text in below.items()})
            else:
                yield from _tagged({f"gpusim {name}": entry.text})
    for title, rows in {"EXIT STATUS": EXIT_CODES, "ENVIRONMENT": VARIABLES, "FILES": FILES}.items():
        yield f".SH {title}"
        yield from _tagged(rows)


def _use(text: str) -> str:
    return text.replace("{name}", "NAME")


def _tagged(rows: dict[str, str]) -> Iterator[str]:
    for tag, text in rows.items():
        yield from (".TP", f".B {_escape(tag)}", _escape(text))


def _escape(text: str) -> str:
    """Return text that a line of roff shows as it is."""
    shown = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


if __name__ == "__main__":
    FILE.write_text(man_page(), encoding="utf-8")
