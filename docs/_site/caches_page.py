"""The measured tables of reference/caches.md, on the R9 Nano, in some 20 seconds."""

from typing import Any

from docs._site.pages import table
from gpusim.config.run import load_run
from gpusim.lab.checks.bench.cases import CASES
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.simulator import simulate
from tests.support.machines import altered

SIZES = {"relu": 1 << 20, "vector_add": 1 << 20, "sparse_gather": 1 << 14}  # work-items
PAGES_KIB = (4, 64, 2048)
QUEUES = (4, 8, 14, 16, 32, 64)
TRANSLATIONS: dict[str, dict[str, Any]] = {
    "as configured": {},
    "8 look-ups a cycle": {"l2_lookups_per_cycle": 8},
    "32 look-ups a cycle": {"l2_lookups_per_cycle": 32},
    "`ideal`": {"model": "ideal"},
    "`off`": {"model": "off"},
}


def _run(case: str, **parts: dict[str, Any]) -> RunFacts:
    config = load_run("layerB.yaml", ["gpu=r9nano", "run.engine=off"])
    build = next(c.build for c in CASES if c.name == case)
    return simulate(build(config, SIZES[case]).launch, altered(config.gpu, **parts))


def queue() -> str:
    """Cycles by the depth of the queue in front of the vector L1."""
    rows = [
        [f"`{case}`", f"{kib} KiB"]
        + [str(_run(case, l1={"queue_instructions": depth}, translation={"page_kib": kib}).cycles) for depth in QUEUES]
        for case in SIZES
        for kib in PAGES_KIB[::2]
    ]
    return table(["kernel", "pages", *(str(depth) for depth in QUEUES)], rows)


def translation() -> str:
    """Cycles of scattered loads by what the L2 TLB can do."""
    rows = [
        [f"{kib} KiB"]
        + [str(_run("sparse_gather", translation={"page_kib": kib, **spec}).cycles) for spec in TRANSLATIONS.values()]
        for kib in PAGES_KIB
    ]
    return table(["pages", *TRANSLATIONS], rows)


SECTIONS = {"queue": queue, "translation": translation}
