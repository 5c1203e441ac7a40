"""What address translation counts."""

from gpusim.base.counters import Counter, CounterTable

TRANSLATION_COUNTERS = CounterTable(
    "translation",
    (
        Counter(
            "l1_lookups",
            "pages",
            "look-ups in the L1 TLBs: lines that lie in another page than the line before at the same cache",
            field="lookups",
        ),
        Counter("l1_hits", "pages", "look-ups whose page the L1 TLB held", field="hits"),
        Counter("l1_misses", "pages", "look-ups that asked the L2 TLB", field="misses"),
        Counter(
            "l1_merges",
            "pages",
            "look-ups whose page was already asked for; l1_hits + l1_misses + l1_merges = l1_lookups",
            field="merges",
        ),
        Counter(
            "early_requests",
            "pages",
            "pages that a vector L1 asked for ahead, while its look-up waited for another",
            field="early",
        ),
        Counter("l2_requests", "pages", "requests to the L2 TLB: l1_misses + early_requests", field="requests"),
        Counter("l2_answers", "pages", "answers that the L1 TLBs took", field="answers"),
        Counter("l2_hits", "pages", "requests whose page the L2 TLB held; all of them in the ideal model"),
        Counter("l2_merges", "pages", "requests that joined a walk"),
        Counter("walks", "pages", "page walks; l2_hits + l2_merges + walks = l2_requests"),
        Counter(
            "latency_total_cycles",
            "cycles",
            "sum over answers of cycles from the request to the L2 TLB",
            field="request_latency",
        ),
        Counter(
            "stall_cycles",
            "cycles",
            "cycles in which a first-level cache's look-up waited for a translation, summed over the caches",
        ),
    ),
    state="translation",
)
