"""What each table of a store holds, and the scripts that make a file of an earlier version one of this.

A script (`migrations/N.sql`) takes a file from version N - 1 to N and is never changed once released: a new version is
a new script. A test holds the meanings here to the tables that the scripts make, and a store made by each earlier
version to those of a new one.
"""

from functools import cache
from pathlib import Path

APPLICATION_ID = 0x67707573  # "gpus", in the file's header: what tells a store from other SQLite files
_SCRIPTS = Path(__file__).parent / "migrations"

# table or view: what a row is, and what its columns hold
MEANINGS: dict[str, tuple[str, dict[str, str]]] = {
    "runs": (
        "One command's run, or one point of a sweep.",
        {
            "id": "its number, never given twice",
            "name": "given by `gpusim results name`; null: none",
            "kind": "run, exec, net, hip, microbench or correlate",
            "title": "what was run, for people",
            "state": "done; partial: stopped before its end; failed: a sweep's point that ended with an error",
            "exit_code": "of the command",
            "error": "of a failed point",
            "started": "UTC",
            "ended": "UTC",
            "wall_s": "real seconds from start to end",
            "host": "name of the machine",
            "command": "the command line",
            "folder": "in which it was given",
            "gpusim": "version",
            "sources": "hash of the simulator's sources",
            "configuration": "the resolved configuration",
            "inputs": "hash of the contents of the files that it reads beside configurations",
            "work": "hash of kind, configuration, sources and inputs: equal for equal work",
            "gpu": "name of the simulated GPU",
            "seed": "of data made up, where the configuration has one",
            "network": "the network, of kind net",
            "batch": "images, of a network or a layer",
            "phase": "inference or train, of a network",
            "sweep": "the sweep that ran it",
        },
    ),
    "configurations": (
        "A resolved configuration, each value of it: JSON of what `gpusim show --values` prints.",
        {"hash": "SHA-256 of the JSON", "json": "the text: SQL reads it by `json ->> '$.gpu.l2.size_kib'`"},
    ),
    "networks": (
        "A network.",
        {"id": "", "hash": "of its layers and shapes", "name": "", "source": "its file, or function"},
    ),
    "layers": (
        "A layer of a network.",
        {"id": "", "network": "", "position": "in the network's order, from 0", "name": "", "kind": "convolution, …"},
    ),
    "launches": (
        "A kernel launch of a run: by layer, kernel, pass and invocation order.",
        {
            "id": "",
            "run": "",
            "variant": "dense or sparse where a run has both, else empty",
            "layer": "null outside of networks",
            "pass": "forward, backward_data, …; null outside of networks",
            "kernel": "",
            "invocation": "its number in the run's variant, from 0",
            "of_kernel": "its number among those of the same kernel, from 0",
            "simulated": "1; 0: it counts as an equal launch that was simulated",
        },
    ),
    "metrics": (
        "A metric in long form: a view of the three tables below. Of a launch, of a layer's pass, or of a whole run.",
        {
            "run": "",
            "variant": "dense or sparse where a run has both, else empty",
            "layer": "its name; null: of the whole run",
            "pass": "null: of the whole run",
            "launch": "null: of a layer's pass or of the whole run",
            "name": "as `gpusim metrics` lists it",
            "value": "a number, 0 or 1 for no and yes, text, or a JSON list; what does not apply has no row",
            "unit": "",
            "half_width": "of the value's confidence interval; null unless it was sampled",
        },
    ),
    "sweeps": (
        "A sweep.",
        {
            "id": "its number, never given twice",
            "hash": "of what its file says",
            "sources": "hash of the simulator's sources",
            "title": "",
            "specification": "JSON of what its file says",
            "points": "how many it has",
            "started": "UTC",
            "name": "given by `gpusim results name sweep:N`; null: none",
        },
    ),
    "points": (
        "A point of a sweep that is known: a run of that sweep, or an equal one that was there.",
        {"sweep": "", "number": "in the sweep's order, from 0", "run": ""},
    ),
    "axes": (
        "A value that a point of a sweep has.",
        {
            "sweep": "",
            "path": "of the configuration",
            "number": "the point's",
            "value": "a number, text, or JSON",
        },
    ),
    "subjects": (
        "What values are of: a run's variant, a layer's pass of a run, a launch.",
        {"id": "", "run": "", "variant": "", "layer": "", "pass": "", "launch": ""},
    ),
    "metric_names": (
        "A metric, as the version of gpusim that stored it defines it.",
        {"id": "", "name": "", "unit": "", "definition": ""},
    ),
    "metric_values": (
        "A value, by metric, so that one metric of all runs lies together.",
        {"metric": "", "subject": "", "value": "", "half_width": ""},
    ),
    "results": (
        "What a run left behind as a whole: compressed, for `gpusim results show`, `compare` and equal work.",
        {"run": "", "content": "JSON of counts or of the result, by zlib"},
    ),
    "launch_classes": (
        "What is known of launches of networks, from one run to the next.",
        {
            "key": "hash of all that decides a launch's time: code, geometry, arguments, GPU, simulator",
            "kernel": "",
            "facts": "JSON of what was counted, by zlib",
        },
    ),
    "migrations": (
        "Versions that the file has had.",
        {"version": "", "applied": "UTC", "gpusim": "version that did it"},
    ),
}


@cache
def scripts() -> tuple[str, ...]:
    """Return the migration scripts in order; the first one makes a store of version 1 from an empty file."""
    files = sorted(_SCRIPTS.glob("*.sql"), key=lambda file: int(file.stem))
    return tuple(file.read_text(encoding="utf-8") for file in files)


def version() -> int:
    """Return the version of stores that this gpusim writes."""
    return len(scripts())
