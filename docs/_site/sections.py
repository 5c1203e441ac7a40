"""The tables of the site's pages: those that each build makes, and those that are measured and stored in their page.

`python -m docs._site.sections PAGE...` measures a page's stored tables anew, `PAGE:SECTION` one of them. Most take
minutes. `how-to/hip`, `results/vendor-kernels` and `transforms` of `explanation/block-circulant` need AMD's packages.
The host's own speed (results/performance.md) is a log of measurements.
"""

import sys
from collections.abc import Callable, Mapping

from docs._site import (
    activation_pages,
    caches_page,
    check_page,
    circulant_page,
    conv_tables,
    correlation_pages,
    dense_kernels,
    dram_mixes,
    dram_page,
    energy_pages,
    engine_page,
    examples,
    gallery,
    graphs_page,
    hip_pages,
    library_accuracy,
    microbenchmark_page,
    monitor_pages,
    network_pages,
    network_sampling,
    report_costs,
    report_gains,
    report_page,
    results_page,
    rooflines,
    sampled_reproduction,
    sampling_savings,
    silicon_pages,
    sizes_page,
    sparse_kernels,
    training_pages,
    transformers_page,
    vendor_kernels,
)
from docs._site.pages import DOCS, RESULTS, renewed
from gpusim.lab.ages.commands import stamp_files
from gpusim.lab.ages.recording import spent_seconds
from tests.vendor import programs
from tests.vendor.linked import linked_table

Sections = Mapping[str, Callable[[], str]]


def _chosen(sections: Sections, names: tuple[str, ...]) -> Sections:
    return {name: sections[name] for name in names}


def _others(sections: Sections, names: tuple[str, ...]) -> Sections:
    return {name: make for name, make in sections.items() if name not in names}


DRAM_RUNS = ("measured", "t32aw")
NETWORK_REFERENCE = ("kinds", "operators", "totals")
BUILT: Mapping[str, Sections] = {
    "README": correlation_pages.SUMMARY,
    "explanation/activations": activation_pages.SECTIONS,
    "explanation/block-circulant": {"costs": circulant_page.costs},
    "explanation/energy": _chosen(energy_pages.SECTIONS, energy_pages.COUNTED),
    "explanation/engine": engine_page.SECTIONS,
    "explanation/sampling": {
        **sampled_reproduction.SECTIONS,
        **sampling_savings.SECTIONS,
        "network": network_sampling.bounds_table,
    },
    "how-to/gallery": gallery.SECTIONS,
    "how-to/monitor": _chosen(monitor_pages.SECTIONS, monitor_pages.COUNTED),
    "how-to/report": {
        "sections": report_page.sections,
        "rules": report_page.rules,
        "programs": report_page.programs,
    },
    "how-to/stored-results": results_page.SECTIONS,
    "how-to/training": training_pages.SECTIONS,
    "reference/dram": _others(dram_page.SECTIONS, DRAM_RUNS),
    "reference/networks": _chosen(network_pages.SECTIONS, NETWORK_REFERENCE),
    "results/correlation": correlation_pages.SECTIONS,
    "results/kernels": _chosen(sparse_kernels.SECTIONS, sparse_kernels.SWEPT),
    "results/microbenchmarks": {"generations": microbenchmark_page.generations},
    "results/near-memory-transformers": transformers_page.SECTIONS,
    "results/networks": _others(network_pages.SECTIONS, NETWORK_REFERENCE),
    "results/networks-silicon": silicon_pages.SECTIONS,
    "results/sizes": sizes_page.SECTIONS,
}
"""Tables made in seconds from stored results and from the code's own tables: a page has a marker in their place."""

STORED: Mapping[str, Sections] = {
    "explanation/block-circulant": circulant_page.SECTIONS,
    "explanation/energy": _others(energy_pages.SECTIONS, energy_pages.COUNTED),
    "explanation/kernels": {"nearly empty": sparse_kernels.nearly_empty_table},
    "explanation/sampling": {"rounds": network_sampling.rounds_table},
    "how-to/check": check_page.SECTIONS,
    "how-to/hip": {
        "functions": hip_pages.functions_table,
        "two runs": hip_pages.two_runs,
        "costs": hip_pages.costs,
        "linked": lambda: linked_table(programs.root() / "usr"),
        "test programs": programs.test_table,
        "calls": programs.call_table,
    },
    "how-to/monitor": _others(monitor_pages.SECTIONS, monitor_pages.COUNTED),
    "how-to/own-kernels": {"sweep": examples.sweep},
    "how-to/own-kernels-hip": {"precision": examples.precision},
    "how-to/report": {**report_costs.SECTIONS, **report_gains.SECTIONS},
    "how-to/stored-results": results_page.MEASURED,
    "how-to/timeline": {"steps": examples.miss_steps, "waits": examples.waits},
    "reference/caches": caches_page.SECTIONS,
    "reference/dram": {**_chosen(dram_page.SECTIONS, DRAM_RUNS), **dram_mixes.SECTIONS},
    "reference/opencl": {"accuracy": library_accuracy.table},
    "results/correlation": correlation_pages.SIMULATED,
    "results/graphs": graphs_page.SECTIONS,
    "results/kernels": {
        "dense": dense_kernels.choices_table,
        **_others(sparse_kernels.SECTIONS, sparse_kernels.SWEPT),
        "products": rooflines.products_table,
        "few_rows": rooflines.few_rows_table,
        **conv_tables.SECTIONS,
        "primitives": rooflines.primitives_table,
    },
    "results/vendor-kernels": {"kernels": vendor_kernels.page_table},
}
"""Tables of simulated figures, whose text stays in its page."""


def renew(wanted: str) -> None:
    """Measure a page's stored tables anew, or the one that is named: 'results/kernels', 'results/kernels:dense'."""
    page, _, only = wanted.partition(":")
    path = DOCS / f"{page}.md"
    for name, make in STORED[page].items():
        if only in ("", name):
            start = spent_seconds()
            text = make()  # takes minutes, in which somebody may have edited the page
            path.write_text(renewed(path.read_text(encoding="utf-8"), {name: lambda text=text: text}), encoding="utf-8")
            stamp_files(RESULTS, {f"docs/{page}.md:{name}": spent_seconds() - start})


if __name__ == "__main__":
    for each in sys.argv[1:] or sys.exit(f"pages with stored tables: {', '.join(STORED)}"):
        renew(each)
