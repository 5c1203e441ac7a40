"""Resident wavefronts by registers and by LDS, and what they are good for: DRAM bandwidth over resident wavefronts."""

import struct

from gpusim.lab.microbench.bench import Bench, MicrobenchResults
from gpusim.lab.microbench.launches import STEP_ACCESSES
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.facts import RunFacts

VGPRS = (24, 28, 32, 36, 40, 48, 64, 84, 128, 256)  # occupancy.s has a sleeper for each
LDS_KIB = (4, 5, 6, 8, 10, 12, 16, 20, 32)
LOAD_BYTES = 256  # of a wavefront: a dword a lane
HIDING_BYTES = 4 << 20  # read by all wavefronts together


def resident(bench: Bench, vgprs: int, lds_bytes: int = 0) -> int:
    """Wavefronts (workgroups of one) that a compute unit holds: one more takes a second round, twice as long."""
    memory = bench.memory()

    def cycles(waves: int) -> int:
        kernel = ("occupancy", f"sleep_{vgprs}")
        return bench.run(kernel, memory, bytes(16), waves, 1, gpu=bench.one_cu, dynamic_lds_bytes=lds_bytes).cycles

    alone = cycles(1)
    fits, too_many = 1, SIMDS * bench.gpu.cu.waves_per_simd + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if 2 * cycles(middle) < 3 * alone:
            fits = middle
        else:
            too_many = middle
    return fits


def one_load_in_flight(bench: Bench, waves_per_cu: int) -> tuple[float, float]:
    """Bytes a cycle of the whole GPU, and cycles of a load, each wavefront waiting for 256 bytes at a time.

    All together go through a set of at least 4 times L2 once before, as in `bandwidth.resident_stream`.
    """
    set_bytes = 1 << (4 * bench.gpu.l2.size_kib * 1024 - 1).bit_length()
    waves = bench.gpu.cus * waves_per_cu
    access = LOAD_BYTES * waves
    once, more = -(-set_bytes // (STEP_ACCESSES * access)), -(-HIDING_BYTES // (STEP_ACCESSES * access))

    def run(steps: int) -> RunFacts:
        memory = bench.memory()
        held = memory.allocate(set_bytes, "source")
        block = struct.pack("<QQIIII", held.address, held.address, access, set_bytes - 1, steps, 1)
        return bench.run(("streams", "read_wait"), memory, block, waves, 1)

    load = bench.longer(run, once, once + more) / (more * STEP_ACCESSES)
    return access / load, load


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Wavefronts a SIMD by VGPRs, wavefronts a compute unit by LDS."""
    by_registers = [(n, resident(bench, n) / SIMDS) for n in bench.each("occupancy: registers", VGPRS)]
    for n, waves in by_registers:
        results.add(f"occupancy.vgprs_{n}", f"{n} VGPRs", waves, "wavefronts/SIMD")
    axes = ("VGPRs of a work-item", "resident wavefronts a SIMD")
    results.add_curve("by VGPRs", "occupancy by registers", axes, by_registers)
    fitting = [kib for kib in LDS_KIB if kib <= bench.gpu.cu.lds_kib]
    by_lds = [(kib, resident(bench, VGPRS[0], kib << 10)) for kib in bench.each("occupancy: LDS", fitting)]
    for kib, held in by_lds:
        results.add(f"occupancy.lds_{kib}", f"{kib} KiB of LDS, one-wavefront workgroups", held, "wavefronts/CU")
    axes = ("KiB of LDS of a one-wavefront workgroup", "resident wavefronts a compute unit")
    results.add_curve("by LDS", "occupancy by LDS", axes, by_lds)
    most = SIMDS * bench.gpu.cu.waves_per_simd
    counts = [n for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40) if n <= most]
    loaded = {n: one_load_in_flight(bench, n) for n in bench.each("occupancy: latency hiding", counts)}
    x, clock = "wavefronts a compute unit, each with one 256-byte load in flight", bench.gpu.clock_ghz
    axes = (x, "DRAM read bandwidth in GB/s")
    results.add_curve("DRAM reads", "latency hiding", axes, [(n, clock * rate) for n, (rate, _) in loaded.items()])
    axes = (x, "load-to-use latency in cycles")
    results.add_curve("DRAM reads", "loaded latency", axes, [(n, load) for n, (_, load) in loaded.items()])
