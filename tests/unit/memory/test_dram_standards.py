"""Standards: does the scheduler keep each, are its bandwidth and banks used whole, is the rest refused?"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st
from pydantic import ValidationError

from gpusim.base.errors import UserError
from gpusim.base.jit import JIT_DISABLED
from gpusim.config.gpu import load_gpu
from memory.dram.constants import COLUMN_COMMANDS, MAX_BANKS, REFRESH
from memory.dram.spec import DramSpec, resolve
from memory.dram.standards import STANDARDS
from tests.support.daily import given_daily
from tests.support.dram_checker import check_commands
from tests.unit.memory.dram_harness import READ, WRITE, run, run_streams, with_plain_banks

STREAM_LINES = 250 if JIT_DISABLED else 10_000


def variants():
    """Each standard as it is, with refreshes of banks and with several ranks where it has them."""
    for name, standard in STANDARDS.items():
        yield {"standard": name}
        if standard.per_bank_refresh != "none":
            yield {"standard": name, "refresh": "per_bank"}
        if standard.max_ranks > 1:
            yield {"standard": name, "ranks": 2}
        if standard.max_ranks > 1 and standard.per_bank_refresh != "none":
            yield {"standard": name, "ranks": 2, "refresh": "per_bank"}


def fits_plain_python(values: dict) -> bool:
    """Whether a channel has fewer than 64 banks: bit 63 of NumPy's words is a sign, which plain Python's are not."""
    standard = STANDARDS[values["standard"]]
    return standard.bank_groups * standard.banks_per_group * values.get("ranks", 1) < 64


# all that standards differ in by code is in these: without the compiler they are enough
FEW = (
    {"standard": "gddr5"},
    {"standard": "hbm2", "refresh": "per_bank"},
    {"standard": "ddr4", "ranks": 2},
    {"standard": "lpddr5", "ranks": 2, "refresh": "per_bank"},
)
VARIANTS = [
    pytest.param(v, id="-".join(map(str, v.values())), marks=[] if v in FEW else pytest.mark.compiled_tier)
    for v in variants()
    if not JIT_DISABLED or fits_plain_python(v)
]
SMALL = {"channels": 1, "read_queue": 8, "write_queue": 8, "write_high": 6, "write_low": 2}
TRAFFIC = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from([READ, READ, WRITE]), st.integers(0, 1 << 14)),
    min_size=4,
    max_size=60,
)


@pytest.mark.parametrize("values", VARIANTS)
@given_daily(*((2, 3) if JIT_DISABLED else (4, 12)), reads=TRAFFIC, writes=TRAFFIC)
def test_random_traffic_keeps_the_rules(values, reads, writes):
    spec = DramSpec(**values, **SMALL)

    def script(steps):
        t, out = 1, []
        for wait, kind, line in steps:
            t += wait
            out.append((t, kind, line))
        return out

    scripts = [script(reads), script(writes)]
    out = run_streams(spec, scripts, core_clock_hz=1.237e9)
    assert check_commands(out.commands, resolve(spec)) == len(out.commands)
    kinds = [request[1] for script in scripts for request in script]
    assert out.answers == [int(kind == READ) for kind in kinds]
    # looking at every bank in every cycle, or deciding nothing ahead, changes nothing
    assert run_streams(spec, scripts, core_clock_hz=1.237e9, poll=True).commands == out.commands
    written = [request[2] for script in scripts for request in script if request[1] == WRITE]
    if len(set(written)) == len(
        written
    ):  # a line written again while its bursts are sent: see docs/reference/dram.md, Time
        assert run_streams(spec, scripts, core_clock_hz=1.237e9, look_ahead=0).commands == out.commands


@pytest.mark.parametrize("values", VARIANTS)
def test_streaming_reads_reach_the_pin_bandwidth_less_refresh(values):
    spec = DramSpec(**values, channels=1, read_queue=64)
    t = resolve(spec)
    out = run(spec, [(1, READ, i) for i in range(STREAM_LINES)], core_clock_hz=2e9)
    seconds = (out.commands[-1].clock - out.commands[0].clock) / t.clock_hz
    share = 64 * STREAM_LINES / seconds / spec.bytes_per_s
    closed = 0 if spec.refresh == "per_bank" else t.trfc / t.trefi
    assert 0.88 * (1 - closed) <= share <= 1.01


@pytest.mark.parametrize("values", VARIANTS)
@pytest.mark.parametrize(
    "banks",
    [
        pytest.param(with_plain_banks, id="plain", marks=pytest.mark.compiled_tier),
        pytest.param(lambda spec: spec, id="hashed"),
    ],
)
def test_every_bank_row_and_column_is_used_once(values, banks):
    spec = banks(DramSpec(**values, channels=1))
    t = resolve(spec)
    lines = t.banks * t.lines_per_row  # one row of each bank
    n = lines if not JIT_DISABLED else min(lines, 128)
    first = 5 * lines
    out = run(spec, [(1, READ, first + i) for i in range(n)], core_clock_hz=2e9)
    places = {(c.bank, c.row, c.column) for c in out.commands if c.command in COLUMN_COMMANDS}
    assert len(places) == n * t.bursts_per_line
    assert {column for _, _, column in places} <= set(range(t.lines_per_row * t.bursts_per_line))
    if n == lines:
        assert {bank for bank, _, _ in places} == set(range(t.banks))
        assert {row for _, row, _ in places} == {5}


PUBLISHED = {  # GB/s and Gbit of a channel, banks of a rank or pseudo-channel
    "gddr5": (28.0, 4, 16),
    "gddr6": (28.0, 4, 16),
    "hbm1": (16.0, 1, 8),
    "hbm2": (32.0, 4, 16),
    "hbm3": (51.2, 4, 16),
    "ddr4": (25.6, 64, 16),
    "ddr5": (12.8, 64, 32),
    "lpddr5": (12.8, 16, 16),
}


@pytest.mark.parametrize("name", STANDARDS)
def test_bandwidth_and_capacity_are_the_published_ones(name):
    bandwidth, gigabits, banks = PUBLISHED[name]
    t = resolve(DramSpec(standard=name))
    assert t.channel_bytes_per_s == pytest.approx(bandwidth * 1e9)
    assert t.channel_bytes == STANDARDS[name].channel_bytes == gigabits << 27
    assert t.rank_banks == banks


@pytest.mark.compiled_tier  # random traffic refreshes banks in plain Python, too
def test_a_refresh_of_banks_lets_the_others_work():
    # a stream to one bank while others are refreshed: only its own refresh holds it up
    def latency(refresh):
        spec = with_plain_banks(DramSpec(standard="hbm2", channels=1, refresh=refresh))
        t = resolve(spec)
        script = [(1 + 40 * i, READ, i % 2) for i in range(3 * t.trefi // 40)]
        out = run(spec, script, core_clock_hz=1e9)
        return sum(done - at for done, (at, *_) in zip(out.done, script, strict=True)) / len(script)

    assert latency("per_bank") < latency("all_bank")


@pytest.mark.compiled_tier
def test_ranks_are_refreshed_at_different_times():
    spec = with_plain_banks(DramSpec(standard="ddr4", ranks=2, channels=1))
    t = resolve(spec)
    out = run(spec, [(1 + 100 * i, READ, i) for i in range(4 * t.trefi // 100)], core_clock_hz=1.6e9)
    refreshes = [c for c in out.commands if c.command == REFRESH]
    assert {c.bank for c in refreshes} == {0, 16}
    assert all(b.clock - a.clock > t.trfc for a, b in pairwise(refreshes))


# --- what the model cannot represent ---

REFUSED = [
    ({"organization": {"bank_groups": 3}}, "bank_groups: 3 is not a power of two"),
    ({"organization": {"banks_per_group": 6}}, "banks_per_group: 6 is not a power of two"),
    ({"organization": {"row_bytes": 3072}}, "row_bytes: 3072 is not a power of two"),
    ({"organization": {"row_bytes": 32}}, "row_bytes: 32 is not a power of two"),
    ({"organization": {"bus_bits": 48}}, "is 48 bytes; a line of 64 bytes must be a whole number"),
    ({"organization": {"burst_length": 32}}, "is 128 bytes; a line of 64 bytes"),
    ({"organization": {"burst_length": 2, "bus_bits": 128}}, "not a whole number of clocks of 4"),
    ({"organization": {"bank_groups": 32, "banks_per_group": 4}}, f"128 banks: at most 4 and {MAX_BANKS}"),
    ({"organization": {"row_bytes": 128}}, "group_interleave_lines: 4 is more than the 2 of a row"),
    ({"standard": "hbm2", "group_interleave_lines": 32}, "32 is more than the 16 of a row"),
    ({"ranks": 2}, "ranks: 2: 'gddr5' has at most 1"),
    ({"standard": "ddr4", "ranks": 3}, "ranks: 3: 'ddr4' has at most 4, and a power of two"),
    ({"standard": "hbm2", "ranks": 2, "organization": {"max_ranks": 2}}, "not supported together"),
    ({"ranks": 2, "organization": {"max_ranks": 2}}, "timing.trtrs_clocks of 'gddr5' is not given"),
    ({"refresh": "per_bank"}, "'gddr5' refreshes all banks at once"),
    ({"refresh": "per_bank", "organization": {"per_bank_refresh": "bank"}}, "give timing.trfc_bank_ns"),
    ({"standard": "hbm2", "refresh": "per_bank", "timing": {"trefb_to_refb_ns": 400}}, "leaves 243 clocks"),
    ({"standard": "gdr5"}, "should be 'gddr5', 'gddr6'"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_the_model_cannot_represent_is_refused(values, message):
    with pytest.raises(ValidationError) as caught:
        DramSpec.model_validate(values)
    assert message in str(caught.value)


# --- a standard of a user's own ---

OWN = """
base: mi6
dram:
  standard: hbm2
  channels: 4
  pin_rate_gbps: 2.4
  organization: {bank_groups: 2, banks_per_group: 8, row_bytes: 2048, pseudo_channels: 1, bus_bits: 128}
  timing: {trcd_read_ns: 10.0, tfaw_ns: 20.0, t32aw_ns: 200.0, tccd_short_clocks: 2}
"""


def test_a_standard_defined_in_yaml(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(OWN)
    spec = load_gpu(str(file)).dram
    t = resolve(spec)
    assert (t.bank_groups, t.banks_per_group, t.lines_per_row, t.units) == (2, 8, 32, 1)
    assert (t.trcd_read, t.tfaw, t.t32aw, t.bursts_per_line) == (12, 24, 240, 1)
    assert t.channel_bytes_per_s == pytest.approx(38.4e9)
    random = np.random.default_rng(1)
    script = [(1 + i, WRITE if i % 4 == 0 else READ, int(random.integers(0, 4096))) for i in range(300)]
    out = run(spec.model_copy(update={"channels": 1}), script)
    assert check_commands(out.commands, t) == len(out.commands)


def test_a_standard_in_a_file_of_its_own(tmp_path):
    (tmp_path / "mine.yaml").write_text("standard: gddr6\npin_rate_gbps: 16.0\ntiming: {trp_ns: 12.0}\n")
    gpu = tmp_path / "gpu.yaml"
    gpu.write_text("base: mi6\ndram: {standard: mine.yaml, timing: {tras_ns: 29.0}}\n")
    spec = load_gpu(str(gpu)).dram
    assert (spec.standard, spec.pin_rate_gbps, spec.timing.trp_ns, spec.timing.tras_ns) == ("gddr6", 16.0, 12.0, 29.0)
    shipped = load_gpu("mi6", ["dram.standard=hbm2e.yaml"]).dram
    assert (shipped.standard, shipped.pin_rate_gbps, shipped.organization.rows) == ("hbm2", 3.2, 32768)
    (tmp_path / "mine.yaml").write_text("standard: gddr6\nchannels: 2\n")
    with pytest.raises(UserError, match=r"a DRAM standard's file has .*; not channels"):
        load_gpu(str(gpu))
