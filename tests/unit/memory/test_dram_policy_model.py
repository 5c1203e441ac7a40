"""Every scheduler with every page policy issues, command by command, what a slow controller in plain Python does."""

import numpy as np
import pytest

from memory.dram.constants import COMMAND_NAMES
from memory.dram.page_policy import PAGE_POLICIES
from memory.dram.scheduler import SCHEDULERS
from memory.dram.spec import DramSpec, resolve
from tests.support.reference_dram import PAGES, READ, SCHEDULES, WRITE, Controller, Issued, Request
from tests.unit.memory.dram_harness import line_at, plain_spec, run

REQUESTS = 60


def random_spec(draw: np.random.Generator, scheduler: str, page_policy: str) -> DramSpec:
    """A channel whose bounds are so near that a stream of requests meets them."""
    return plain_spec(
        standard=draw.choice(["gddr5", "hbm1"]),
        scheduler=scheduler,
        page_policy=page_policy,
        hit_cap=int(draw.integers(1, 4)),
        age_cap_clocks=int(draw.choice([*range(20, 60), *[10_000] * 40])),
        page_timeout_clocks=int(draw.choice([1, 10, 60])),
        write_idle_clocks=int(draw.choice([0, 40])),
        read_queue=64,
        write_queue=64,
        write_high=6,
        write_low=2,
        write_batch=int(draw.integers(1, 8)),
        timing={"trefi_ns": 100_000},  # the model knows no refresh
    )


def random_requests(draw: np.random.Generator, spec: DramSpec) -> list[tuple[Request, int]]:
    """Requests, with their lines, to few rows of few banks, in crowds with pauses. Each line once: nothing merges."""
    t = resolve(spec)
    at, requests, columns = 2, [], dict[tuple[int, int, int], int]()
    banks = int(draw.integers(1, 3))
    for number in range(REQUESTS):
        at += int(draw.choice([0, 0, 1, 2, 5, 9])) if number % 20 else int(draw.choice([1, 90, 400]))
        row, bank, group = int(draw.choice([0, 0, 0, 1, 2])), int(draw.integers(banks)), int(draw.integers(banks))
        column = columns[row, bank, group] = columns.get((row, bank, group), -1) + 1
        if column < t.lines_per_row:
            kind = WRITE if draw.random() < 0.3 else READ
            request = Request(len(requests), at, kind, bank * t.bank_groups + group, row)
            requests.append((request, line_at(spec, row, bank, group, column)))
    return requests


def test_the_model_knows_every_policy() -> None:
    assert set(SCHEDULES) == set(SCHEDULERS)
    assert set(PAGES) == set(PAGE_POLICIES)


@pytest.mark.parametrize(
    ("page_policy", "scheduler"),
    [
        # without the compiler each page policy once, with the schedulers in turn
        pytest.param(page, scheduler, marks=[] if p % len(SCHEDULERS) == s else pytest.mark.compiled_tier)
        for p, page in enumerate(PAGE_POLICIES)
        for s, scheduler in enumerate(SCHEDULERS)
    ],
)
@pytest.mark.parametrize("streams", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_commands_are_those_of_the_model(page_policy: str, scheduler: str, streams: int) -> None:
    for seed in range(streams):
        draw = np.random.default_rng(seed)
        spec = random_spec(draw, scheduler, page_policy)
        requests = random_requests(draw, spec)
        # the controller sees a request in the clock after it was sent
        out = run(spec, [(r.arrival - 1, r.kind, line) for r, line in requests], resolve(spec).clock_hz)
        issued = [Issued(c.clock, COMMAND_NAMES[c.command], c.bank, c.row) for c in out.commands]
        last = max(c.clock for c in issued if c.command in ("RD", "WR"))
        expected = Controller(spec).run([request for request, _ in requests])
        for mine, models in zip((c for c in issued if c.clock <= last), expected, strict=True):
            assert mine == models, f"stream {seed}: {spec}"
