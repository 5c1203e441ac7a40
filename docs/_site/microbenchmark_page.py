"""docs/results/microbenchmarks.md's table of generations, from the pages that `gpusim microbench --markdown` wrote."""

import re

from docs._site.pages import RESULTS, table

PAGES_OF = RESULTS / "microbenchmarks"
GPUS = {
    "r9nano": "R9 Nano (gfx803)",
    "mi25": "MI25 (gfx900)",
    "mi60": "MI60 (gfx906)",
    "mi100": "MI100 (gfx908)",
    "mi210": "MI210 (gfx90a)",
}
SUMS = "adding to the sums of the one before"
QUANTITIES = (
    ("v_fma_f32, dependent; one wavefront", "cycles/instruction"),
    ("v_fma_f64, dependent; one wavefront", "cycles/instruction"),
    ("v_mac_f32, dependent", "operations/cycle/CU"),
    ("v_fma_f64, dependent", "operations/cycle/CU"),
    ("v_pk_fma_f16, dependent", "operations/cycle/CU"),
    ("v_dot2_f32_f16, dependent", "operations/cycle/CU"),
    ("v_dot4_i32_i8, dependent", "operations/cycle/CU"),
    ("v_dot8_i32_i4, dependent", "operations/cycle/CU"),
    ("v_mul_lo_u32 and v_add_u32, a pair", "operations/cycle/CU"),
    (f"v_mfma_f32_32x32x2f32, {SUMS}", "operations/cycle/CU"),
    (f"v_mfma_f64_16x16x4f64, {SUMS}", "operations/cycle/CU"),
    (f"v_mfma_f32_32x32x8f16, {SUMS}", "operations/cycle/CU"),
    (f"v_mfma_f32_32x32x4bf16, {SUMS}", "operations/cycle/CU"),
    (f"v_mfma_f32_32x32x8bf16_1k, {SUMS}", "operations/cycle/CU"),
    (f"v_mfma_i32_32x32x8i8, {SUMS}", "operations/cycle/CU"),
    ("L1 reads", "B/cycle/CU"),
    ("LDS reads", "B/cycle/CU"),
    ("L2 reads", "B/cycle/channel"),
    ("vector load that hits L1", "cycles"),
    ("vector load that hits L2", "cycles"),
    ("DRAM reads, sixteen values a work-item", "% of pins"),
    ("DRAM copy, read and written", "% of pins"),
    ("DRAM triad of FP64, all three", "% of pins"),
)


def generations() -> str:
    """A row a quantity: what each generation's GPU does on the model, and what is published of its kind."""
    pages = {gpu: (PAGES_OF / f"{gpu}.md").read_text(encoding="utf-8") for gpu in GPUS}
    rows = [[what, unit, *(_cell(page, what, unit) for page in pages.values())] for what, unit in QUANTITIES]
    return table(["", "unit", *GPUS.values()], rows)


def _cell(page: str, what: str, unit: str) -> str:
    lines = re.findall(
        rf"^\| {re.escape(what)} \| ([^|]+) \| {re.escape(unit)} \| ([^|]*) \|[^|]*\|([^|]*)\|", page, re.M
    )
    if not lines:
        return "not there"
    published = ", ".join(f"{value} ({part.strip()})" for _, value, part in lines if part.strip())
    return f"**{lines[0][0]}**; {published or 'none found'}"
