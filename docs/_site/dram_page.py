"""The tables of reference/dram.md, from the code's and from runs of the model; `dram_mixes` has random mixes."""

from collections.abc import Callable

import numpy as np

from docs._site.pages import table
from gpusim.base.formats import FIXED_0, FIXED_1, FIXED_2, GENERAL, PERCENT_0
from memory.dram.constants import COMMAND_NAMES, LEVEL_NAMES, DramPolicy
from memory.dram.constraints import RULES, TimingRule
from memory.dram.page_policy import PAGE_POLICIES
from memory.dram.scheduler import SCHEDULERS
from memory.dram.spec import DramSpec, TimingOverrides, resolve
from memory.dram.standards import PER_BANK_REFRESH, STANDARDS
from tests.unit.memory.dram_harness import READ, line_at, run, with_plain_banks

STREAM_LINES = 20_000
RANDOM_LINES = 4_000
CORE_CLOCK_HZ = 2e9


def standards() -> str:
    """Organization of each standard's channel."""
    rows = []
    for name, s in STANDARDS.items():
        t = resolve(DramSpec(standard=name))
        buses = f"{s.pseudo_channels} × {s.bus_bits}" if s.pseudo_channels > 1 else f"{s.bus_bits}"
        rows.append(
            [
                f"`{name}`",
                f"{buses} bit, {GENERAL(s.pin_rate_gbps.value)} Gb/s",
                f"{GENERAL(t.channel_bytes_per_s / 1e9)} GB/s",
                f"{GENERAL(t.channel_bytes / 2**30)} GiB",
                f"{s.bank_groups} × {s.banks_per_group}",
                f"{s.rows} × {GENERAL(s.row_bytes / 1024)} KiB",
                f"{t.bursts_per_line} × {t.burst_clocks} clocks",
                str(s.max_ranks),
                PER_BANK_REFRESH[s.per_bank_refresh] if s.per_bank_refresh != "none" else "–",
            ]
        )
    head = [
        "name",
        "data bus",
        "a channel",
        "capacity",
        "groups × banks",
        "rows of a bank",
        "a line",
        "ranks",
        "a refresh of banks",
    ]
    return table(head, rows)


def rules() -> str:
    """The constraint table."""

    def names(commands: tuple[int, ...]) -> str:
        return ", ".join(COMMAND_NAMES[c] for c in commands)

    rows = [
        [
            rule.name + (f" (window of {rule.window})" if rule.window else ""),
            LEVEL_NAMES[rule.level],
            names(rule.preceding),
            names(rule.following),
            f"`{rule.latency}`",
        ]
        for rule in RULES
    ]
    return table(["rule", "level", "after", "before", "clocks"], rows)


def _policies(policies: dict[str, DramPolicy]) -> str:
    return table(["name", "what it does", "source"], [[f"`{n}`", p.meaning, p.source] for n, p in policies.items()])


def _rate(spec: DramSpec, lines: list[int], rules: tuple[TimingRule, ...] = RULES) -> float:
    """Bytes a second."""
    out = run(spec, [(1, READ, line) for line in lines], CORE_CLOCK_HZ, rules=rules)
    return 64 * len(lines) * resolve(spec).clock_hz / (out.commands[-1].clock - out.commands[0].clock)


def random_rate(standard: str, rules: tuple[TimingRule, ...] = RULES) -> float:
    """Bytes a second of random lines, by all timing rules or some."""
    lines = np.random.default_rng(1).integers(0, 1 << 22, RANDOM_LINES).tolist()
    return _rate(DramSpec(standard=standard, channels=1, read_queue=64), lines, rules)


def measured() -> str:
    """Rates of one channel that one requester keeps busy."""
    rows = []
    for name in STANDARDS:
        spec = DramSpec(standard=name, channels=1, read_queue=64)
        t = resolve(spec)
        stream = _rate(spec, list(range(STREAM_LINES)))
        plain = with_plain_banks(spec)
        conflicts = [line_at(plain, row=1 + 37 * i % 1009) for i in range(500)]
        rows.append(
            [
                f"`{name}`",
                f"{FIXED_0(100 * stream / spec.bytes_per_s)} %",
                PERCENT_0(1 - t.trfc / t.trefi),
                f"{FIXED_1(random_rate(name) / 1e9)} GB/s",
                f"{FIXED_1(64 / _rate(plain, conflicts) * 1e9)} ns",
                f"{FIXED_1(1e9 * t.trc / t.clock_hz)} ns",
            ]
        )
    head = ["standard", "streamed, of the pins", "refresh leaves", "random lines", "row conflicts of one bank", "tRC"]
    return table(head, rows)


def t32aw() -> str:
    """Bandwidth of random lines of a GDDR5 channel over t32AW."""
    t = STANDARDS["gddr5"].timing
    faw = t["tfaw_ns"].value
    lines = np.random.default_rng(1).integers(0, 1 << 22, RANDOM_LINES).tolist()
    rows = []
    for factor in (8, 8.5, 9, 10, 12):
        timing = TimingOverrides(t32aw_ns=factor * faw)
        rate = _rate(DramSpec(channels=1, read_queue=64, timing=timing), lines)
        rows.append([f"{GENERAL(factor)} tFAW, {GENERAL(factor * faw)} ns", f"{FIXED_2(rate / 1e9)} GB/s"])
    return table(["t32AW", "random lines"], rows)


SECTIONS: dict[str, Callable[[], str]] = {
    "standards": standards,
    "rules": rules,
    "schedulers": lambda: _policies(SCHEDULERS),
    "page policies": lambda: _policies(PAGE_POLICIES),
    "measured": measured,
    "t32aw": t32aw,
}
