"""Published figures of GCN parts, each beside the microbenchmark of the same quantity.

A figure that nobody seems to have published has no row: DRAM write bandwidth, atomics at L2. What differs by generation
has rows of architectures, and a GPU is set beside those of its own alone. Of latencies of
L1, L2, scalar cache and LDS hits none was found of GCN3; the rows are of CDNA parts, whose compute units are GCN's:
16 KB of vector L1 in lines of 64 bytes, 16 KB of scalar cache for up to three CUs, 64 KB of LDS in 32 banks. Their
loads from DRAM are rows of CDNA alone, as those go over a fabric that GCN3 lacks. Where a published number had to be
converted, `source` says how.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from gpusim.base.formats import DIGITS_4, FIXED_0, FIXED_1, GENERAL
from isa.opcodes import ARCHITECTURES


@dataclass(frozen=True)
class PublishedFigure:
    """A published range of a measured value."""

    figure: str
    """Key of the measured value."""
    low: float
    """Lower end; equal to `high` for a single number."""
    high: float
    """Upper end."""
    unit: str
    """Unit."""
    part: str
    """GPU of the publication."""
    source: str
    """Publication."""
    architectures: tuple[str, ...] = ()
    """Architectures of the GPUs that the value applies to; empty: all."""

    @property
    def text(self) -> str:
        """'4', '300 to 600', 'at least 32'."""
        if self.low == self.high:
            return DIGITS_4(self.low)
        return (
            f"at least {DIGITS_4(self.low)}"
            if math.isinf(self.high)
            else f"{DIGITS_4(self.low)} to {DIGITS_4(self.high)}"
        )

    def deviation(self, value: float) -> float:
        """Return how far `value` lies outside, as a share of the nearer end; 0 inside."""
        if value < self.low:
            return value / self.low - 1
        return value / self.high - 1 if value > self.high else 0.0


_AMD = "AMD APP SDK OpenCL Optimization Guide (2015)"
_CLRX = "CLRX GcnTimings"
_LLVM = "LLVM SISchedule.td, SIQuarterSpeedModel, Write64Bit"
_PERFTEST = "sebbbi/perftest, AMD GCN3 results"
_CLPEAK = "clpeak results"
_GCN = "GCN"
_DP16 = "GCN with FP64 at 1/16"
_GFX8, _VEGA10, _VEGA20 = ("gfx803",), ("gfx900",), ("gfx906",)
_CDNA, _CDNA2 = ("gfx908",), ("gfx90a",)
_SLOW_DP = (*_GFX8, *_VEGA10)
# 256 registers a lane, 64-bit shifts of two turns
_BEFORE_CDNA2 = tuple(name for name in ARCHITECTURES if name not in ("gfx90a", "gfx942"))
_FURY, _NANO, _RX570, _R9_380X = "R9 Fury (Fiji)", "R9 Nano (Fiji)", "RX 570 (Polaris 10)", "R9 380X (Tonga)"
_FURY_X = "R9 Fury X (Fiji)"
_VEGA64, _VEGA56 = "RX Vega 64 (Vega 10)", "RX Vega 56 (Vega 10)"
_MI25, _MI60 = "Instinct MI25 (Vega 10)", "Instinct MI60 (Vega 20)"
_PRO_VII, _VII = "Radeon Pro VII (Vega 20)", "Radeon VII (Vega 20)"
_MI50, _VEGA10_CARD = "Instinct MI50 (Vega 20)", "Vega 10 of 64 CUs"
_HD7970 = "HD 7970 (Tahiti)"
_MI100, _MI210, _MI200 = "MI100 (CDNA)", "MI210 (CDNA 2)", "MI200 of 104 CUs (CDNA 2)"
_MT4G = "caps-tum/mt4g, sample results"
_HPC = "Robey and Zamora, Parallel and High Performance Computing, section 9.3, BabelStream in OpenCL"
_GPU_BENCHES = "te42kyfo/gpu-benches, gpu-latency at 1700 MHz"
_ROOFLINE = "ROCm/rocm-amdgpu-bench, issue 4"
_STREAM = "te42kyfo/gpu-benches, gpu-stream"
_CK = "ROCm/composable_kernel"
_ROOFLINE_BF16 = "ROCm/rocm-systems, pull request 5162"


def _row(
    figure: str,
    value: float | tuple[float, float],
    unit: str,
    part: str,
    source: str,
    architectures: tuple[str, ...] = (),
) -> PublishedFigure:
    low, high = value if isinstance(value, tuple) else (value, value)
    return PublishedFigure(
        figure=figure, low=low, high=high, unit=unit, part=part, source=source, architectures=architectures
    )


def _of_memory() -> Iterable[PublishedFigure]:
    """Yield shares of the pins' bandwidth that benchmarks reached; copies and triads are of FP64, of 200 MB and more.

    The arrays of GPU-STREAM 1.0 lie 0xca00000 bytes apart on the Vega cards, as the pointers that were printed say;
    BabelStream's lie 256 MiB apart by default. docs/results/correlation.md has the model's streams with each distance.
    """
    on_windows, on_rocm = "clpeak in ROCm/ROCm, issue 1634, PAL driver", "clpeak in ROCm/ROCm, issue 1634, ROCm 4.5"
    for part, source, gb_s, peak, architectures in (
        (_RX570, _CLPEAK, 193.05, 224.0, _GFX8),
        (_NANO, _CLPEAK, 453.39, 512.0, _GFX8),
        (_NANO, "mixbench results, HIP read-only", 426.13, 512.0, _GFX8),
        (_VEGA64, on_windows, 385.5, 483.8, _VEGA10),
        (_VEGA64, on_rocm, 356.3, 483.8, _VEGA10),
        (_VEGA56, on_windows, 344.5, 409.6, _VEGA10),
        (_VEGA56, on_rocm, 329.2, 409.6, _VEGA10),
        (_VEGA10_CARD, "clpeak in ROCm/ROCm, issue 212, ROCm 1.6", 377.6, 483.8, _VEGA10),
        (_MI50, "clpeak, results/…/Radeon-MI50-PCIeGen4-rocm3.10.log", 767.5, 1024.0, _VEGA20),
        (_PRO_VII, "clpeak, issue 109", 827.75, 1024.0, _VEGA20),
        (_VII, "clpeak, issue 103", 840.63, 1024.0, _VEGA20),
        (_MI100, f"{_STREAM}/mi100.txt", 1181.0, 1228.8, _CDNA),
        (_MI210, f"{_STREAM}/mi210.txt", 1366.0, 1638.4, _CDNA2),
    ):
        yield _share("read", part, source, gb_s, peak, architectures)
    for part, source, peak, copy, triad, architectures in (
        (_NANO, "BabelStream, results/v2.0/furynano, HIP", 512.0, 414.098, 417.453, _GFX8),
        (_FURY_X, "BabelStream, results/v2.0/furyx, OpenCL", 512.0, 429.587, 442.069, _GFX8),
        ("S9300 X2 (Fiji)", "BabelStream, results/v2.0/hip-x86/s9300x2.txt", 512.0, 442.194, 458.683, _GFX8),
        (_VEGA64, "ROCm/legacy-rocm-build, issue 1399, GPU-STREAM 1.0 in HIP", 483.8, 384.548, 349.327, _VEGA10),
        (_VEGA56, "rocm-arch, issue 258, GPU-STREAM 1.0 in HIP", 409.6, 330.015, 311.379, _VEGA10),
        ("a Vega 20 card", _HPC, 1024.0, 764.890, 763.350, _VEGA20),
        # `scale`, which is a copy with a factor
        (_MI100, f"{_STREAM}/mi100.txt", 1228.8, 1044.0, 1034.0, _CDNA),
        (_MI210, f"{_STREAM}/mi210.txt", 1638.4, 1399.0, 1305.0, _CDNA2),
    ):
        for name, gb_s in (("copy", copy), ("triad", triad)):
            yield _share(name, part, source, gb_s, peak, architectures)


def _share(
    name: str, part: str, source: str, gb_s: float, peak_gb_s: float, architectures: tuple[str, ...]
) -> PublishedFigure:
    """Return a share of the pins' bandwidth, of reads, copies or triads."""
    text, share = f"{source}: {FIXED_1(gb_s)} of {DIGITS_4(peak_gb_s)} GB/s", round(100 * gb_s / peak_gb_s, 1)
    return _row(f"bandwidth.dram_{name}_share", share, "% of pins", part, text, architectures)


def _of_later_arithmetic() -> Iterable[PublishedFigure]:
    """Yield what Vega's vector ALUs do in a cycle: data sheets' peaks, and measurements."""
    operations = "operations/cycle/CU"
    for name, mi25, mi60, unit in (
        ("fp32_mac", 12.3, 14.7, "TFLOPS"),
        ("fp64_fma", 0.768, 7.4, "TFLOPS"),
        ("fp16_pk_fma", 24.6, 29.5, "TFLOPS"),
        ("int8_dot4", 0.0, 58.9, "TOPS"),
        ("int4_dot8", 0.0, 118.0, "TOPS"),
    ):
        for part, tera, ghz, architectures in ((_MI25, mi25, 1.5, _VEGA10), (_MI60, mi60, 1.8, _VEGA20)):
            if tera:
                text = f"AMD, data sheet: {GENERAL(tera)} {unit} of 64 CUs at {FIXED_0(1000 * ghz)} MHz, peak"
                value = round(1000 * tera / 64 / ghz, 1)
                yield _row(f"issue.{name}_operations", value, operations, part, text, architectures)
    for name, what, pro, other in (
        ("fp32_mac", "float", 12880.65, 13705.64),
        ("fp16_pk_fma", "half2", 25210.47, 26691.18),
        ("fp64_fma", "double", 6455.92, 0.0),  # the Radeon VII is sold with half of the rate
        ("int32_mad", "int", 4274.61, 4536.94),
    ):
        for part, issue, giga, ghz in ((_PRO_VII, 109, pro, 1.7), (_VII, 103, other, 1.801)):
            if giga:
                text = f"clpeak, issue {issue}, `{what}`: {FIXED_0(giga)} G/s of 60 CUs at {FIXED_0(1000 * ghz)} MHz"
                yield _row(f"issue.{name}_operations", round(giga / 60 / ghz, 2), operations, part, text, _VEGA20)
    cycles = "cycles/instruction"
    yield from _of_integers()
    yield from _of_matrix_units()
    for part, value, architectures in (
        ("R9 Nano (Fiji)", 1575 * 0.153 / 512, _GFX8),
        ("RX 480 (Polaris 10)", 0.66, _GFX8),
        ("RX 580 (Polaris 20)", 0.57, _GFX8),
        ("RX 590 (Polaris 30)", 0.75, _GFX8),
        (_VEGA64, 1875 * 0.153 / 483.8, _VEGA10),
        ("Instinct MI60 (Vega 20)", 3570 * 0.153 / 1024, _VEGA20),
        (_MI50, 4446 * 0.153 / 1024, _VEGA20),
        (_VII, 4898 * 0.153 / 1024, _VEGA20),
    ):
        text = "ProjectPhysX/FluidX3D, README, FP32 of 256 x 256 x 256 cells, 153 bytes each"
        yield _row("lattice.share", round(100 * value, 1), "% of pins", part, text, architectures)
    fast = "LLVM AMDGPU.td, gfx900 and gfx906: FeatureFastFMAF32"
    yield _row("issue.fp32_fma_cycles", 4, cycles, "Vega 10, Vega 20", fast, (*_VEGA10, *_VEGA20))
    text = "LLVM AMDGPU.td, gfx906: FeatureHalfRate64Ops"
    for name in ("fp64_add", "fp64_fma"):
        yield _row(f"issue.{name}_cycles", 8, cycles, "Vega 20", text, _VEGA20)


def _of_matrix_units() -> Iterable[PublishedFigure]:
    """Yield what CDNA's compute units do in a cycle, vector ALUs and matrix units: peaks, and what programs reached.

    A product or a convolution does not keep the units busy throughout: what it reached is the least that they do.
    """
    operations = "operations/cycle/CU"
    for part, cus, ghz, architectures, peaks in (
        (_MI100, 120, 1.502, _CDNA, {
            "fp32_mac": 23.1, "fp64_fma": 11.5, "fp32_mfma": 46.1, "fp16_mfma": 184.6, "bf16_mfma": 92.3,
            "int8_mfma": 184.6,
        }),
        (_MI210, 104, 1.7, _CDNA2, {
            "fp32_mac": 22.6, "fp64_fma": 22.6, "fp32_mfma": 45.3, "fp64_mfma": 45.3, "fp16_mfma": 181.0,
            "bf16_1k_mfma": 181.0, "int8_mfma": 181.0,
        }),
    ):  # fmt: skip
        for name, tera in peaks.items():
            unit = "TOPS" if name.startswith("int") else "TFLOPS"
            text = f"AMD, data sheet: {GENERAL(tera)} {unit} of {cus} CUs at {FIXED_0(1000 * ghz)} MHz, peak"
            value = round(1000 * tera / cus / ghz, 1)
            yield _row(f"issue.{name}_operations", value, operations, part, text, architectures)
    for name, part, source, giga, cus, ghz, architectures in (
        ("fp32_mac", _MI100, f"{_CLPEAK}, AMD_MI100.log, `float`", 22284.31, 120, 1.502, _CDNA),
        ("bf16_mfma", _MI200, f"{_ROOFLINE_BF16}, v_mfma_f32_32x32x4bf16", 83289.15, 104, 1.7, _CDNA2),
        ("bf16_1k_mfma", _MI200, f"{_ROOFLINE_BF16}, v_mfma_f32_32x32x8bf16_1k", 160485.81, 104, 1.7, _CDNA2),
    ):
        text = f"{source}: {FIXED_0(giga)} G/s of {cus} CUs at {FIXED_0(1000 * ghz)} MHz"
        yield _row(f"issue.{name}_operations", round(giga / cus / ghz, 1), operations, part, text, architectures)
    for name, what, tera in (("fp32_mfma", "convnd_fwd_xdl", 33.0753), ("fp16_mfma", "conv3d_fwd_xdl", 107.965)):
        text = f"{_CK}, example_{what}: {FIXED_1(tera)} TFLOPS of 120 CUs at 1087 MHz, a convolution"
        least = round(1000 * tera / 120 / 1.087, 1)
        yield _row(f"issue.{name}_operations", (least, math.inf), operations, _MI100, text, _CDNA)


def _of_integers() -> Iterable[PublishedFigure]:
    """Yield clpeak's rate of 32-bit integers over its best FP32 rate of the same run, which no clock enters."""
    for part, source, integers, floats, architectures in (
        (_NANO, "clpeak results, driver 1912.5", 1427.61, 7590.98, _GFX8),
        (_RX570, _CLPEAK, 1032.21, 5133.96, _GFX8),
        (_R9_380X, _CLPEAK, 842.52, 4178.26, _GFX8),
        (_VEGA64, "clpeak in ROCm/ROCm, issue 1634, PAL driver", 2495.3, 13089.2, _VEGA10),
        (_VEGA64, "clpeak in ROCm/ROCm, issue 1634, ROCm 4.5", 2517.4, 13176.3, _VEGA10),
        (_VEGA56, "clpeak in ROCm/ROCm, issue 1634, PAL driver", 1899.0, 10733.7, _VEGA10),
        (_VEGA56, "clpeak in ROCm/ROCm, issue 1634, ROCm 4.5", 1890.6, 10593.6, _VEGA10),
        (_VEGA10_CARD, "clpeak in ROCm/ROCm, issue 212, ROCm 1.6", 2341.7, 12105.1, _VEGA10),
        (_MI50, "clpeak, results/…/Radeon-MI50-PCIeGen4.log, ROCm", 4238.15, 12710.35, _VEGA20),
        (_PRO_VII, "clpeak, issue 109, PAL driver", 4274.61, 12880.65, _VEGA20),
        (_VII, "clpeak, issue 103, PAL driver", 4536.94, 13705.64, _VEGA20),
        (_MI100, f"{_CLPEAK}, AMD_MI100.log, ROCm", 7380.05, 22284.31, ("gfx908",)),
        # not of its packed FP32, which is twice as fast
        ("MI250X, a die (CDNA 2)", f"{_CLPEAK}, AMD_MI250X.log, `float`, ROCm", 10125.5, 21413.0, ("gfx90a",)),
    ):
        text = f"{source}: {FIXED_0(integers)} of {FIXED_0(floats)} G/s"
        yield _row("issue.int32_to_fp32", round(integers / floats, 3), "ratio", part, text, architectures)


def _rows() -> Iterable[PublishedFigure]:
    for name, what, mi100, mi210 in (
        ("vector_first", "l1", 136, 124),
        ("vector_l2", "l2", 336, 292),
        ("scalar_first", "scalarL1", 48, 48),
        ("lds", "shared", 48, 48),
    ):
        for part, median in ((_MI100, mi100), (_MI210, mi210)):
            yield _row(f"latency.{name}", median, "cycles", part, f"{_MT4G}: pointer chase, median of `{what}`")
    yield _row("latency.vector_first", 125.1, "cycles", _MI210, f"{_GPU_BENCHES}: sets up to 13 KB")
    yield _row("latency.vector_l2", (233, 249), "cycles", _MI210, f"{_GPU_BENCHES}: sets of 18 KB to 1 MB")
    cycles, rate = "cycles/instruction", "instructions/cycle/CU"
    yield _row("latency.vector_dram", (570, 585), "cycles", _MI210, f"{_GPU_BENCHES}: sets of 14 to 68 MB", _CDNA2)
    yield _row("latency.vector_dram_ns", (335, 344), "ns", _MI210, f"{_GPU_BENCHES}: sets of 14 to 68 MB", _CDNA2)
    for part, median, ghz, architectures in ((_MI100, 664, 1.502, _CDNA), (_MI210, 684, 1.7, _CDNA2)):
        text = f"{_MT4G}: pointer chase, median of `main`"
        yield _row("latency.vector_far", median, "cycles", part, text, architectures)
        yield _row("latency.vector_far_ns", round(median / ghz), "ns", part, text, architectures)
    for name in ("latency.vector_dram", "latency.vector_far"):
        yield _row(name, (300, 600), "cycles", _GCN, f"{_AMD}, section 2.6.1")
        yield _row(f"{name}_ns", 270, "ns", "HD 7770 (Cape Verde)", f"{_AMD}, table 1.1: approximate")
    for name, peak, gb_s in (("l1", 64, 1894), ("lds", 128, 3789), ("scalar", 16, 474)):
        text = f"{_AMD}, table 2.5: {gb_s} GB/s of 32 CUs at 925 MHz, peak"
        yield _row(f"bandwidth.{name}", peak, "B/cycle/CU", _HD7970, text)
    yield _row("bandwidth.l2_channel", 64, "B/cycle/channel", _HD7970, f"{_AMD}, section 2.4: peak")
    text = f"{_ROOFLINE}: 2530 GB/s of 32 channels at 1502 MHz, measured"
    yield _row("bandwidth.l2_channel", 52.6, "B/cycle/channel", _MI100, text)
    text = "te42kyfo/gpu-benches, gpu-l2-cache/mi210.txt: 5106 GB/s of 32 channels at 1700 MHz"
    yield _row("bandwidth.l2_channel", 93.9, "B/cycle/channel", _MI210, text, _CDNA2)
    text = "te42kyfo/gpu-benches, gpu-l2-cache/mi100.txt: 2726 GB/s of 32 channels at 1502 MHz"
    yield _row("bandwidth.l2_channel", 56.7, "B/cycle/channel", _MI100, text, _CDNA)
    text = "te42kyfo/gpu-benches, gpu-cache/mi210.txt: 10616 GB/s of 104 CUs at 1700 MHz"
    yield _row("bandwidth.l1", 60.0, "B/cycle/CU", _MI210, text, _CDNA2)
    for name, gb_s in (("l1", 8191), ("lds", 21579)):
        text = f"{_ROOFLINE}: {gb_s} GB/s of 120 CUs at 1502 MHz, measured"
        yield _row(f"bandwidth.{name}", round(gb_s / 120 / 1.502, 1), "B/cycle/CU", _MI100, text, _CDNA)
    yield _share("copy", _MI100, f"{_ROOFLINE}, HBM", 1041.0, 1228.8, _CDNA)
    yield from _of_memory()
    operations = "operations/cycle/CU"
    for name, nano, rx570, tonga in (
        ("fp32_mac", 7590.98, 5133.96, 4178.26),
        ("fp64_fma", 508.07, 323.55, 263.50),
        ("int32_mad", 1427.61, 1032.21, 842.52),
    ):
        for part, giga, cus, ghz in ((_NANO, nano, 64, 1.0), (_RX570, rx570, 32, 1.268), (_R9_380X, tonga, 32, 1.04)):
            text = f"{_CLPEAK}: {FIXED_0(giga)} G/s of {cus} CUs at {FIXED_0(1000 * ghz)} MHz"
            yield _row(f"issue.{name}_operations", round(giga / cus / ghz, 2), operations, part, text, _GFX8)
    yield from _of_later_arithmetic()
    for name, value in (("fp32_add", 4), ("fp32_mac", 4), ("int32_add", 4), ("int32_mul", 16), ("transcendental", 16)):
        text = f"{_CLRX}; rate {GENERAL(4 / value)} in {_AMD}, table 2.3"
        known = _SLOW_DP if name == "int32_mul" else ()  # of parts before Vega 20
        yield _row(f"issue.{name}_cycles", value, cycles, _GCN, text, known)
    for name, value in (("fp64_add", 32), ("fp64_fma", 64)):
        yield _row(
            f"issue.{name}_cycles", value, cycles, _DP16, f"{_CLRX}; rate 4/{value} in {_AMD}, table 2.3", _SLOW_DP
        )
    yield _row("issue.fp32_fma_cycles", 16, cycles, _DP16, _CLRX, _GFX8)
    yield _row("issue.fp32_fma_cycles", 64, cycles, _DP16, f"{_AMD}, table 2.3: rate 1/16", _GFX8)
    text = f"{_LLVM}: 2 turns; Mesa ACO, aco_statistics.cpp: valu64"
    yield _row("issue.int64_shift_cycles", 8, cycles, _GCN, text, _BEFORE_CDNA2)
    yield _row("issue.int64_shift_cycles", 32, cycles, _DP16, _CLRX, _SLOW_DP)
    yield _row("issue.scalar_add_cycles", 4, cycles, _GCN, f"{_CLRX}; {_AMD}, section 2.9")
    yield _row("issue.saveexec_cycles", 8, cycles, _GCN, _CLRX)
    yield _row("issue.scalar_load_dword_cycles", 4, cycles, _GCN, f"{_CLRX}, without the data")
    yield _row("issue.scalar_load_dwordx16_cycles", (16, 24), cycles, _GCN, f"{_CLRX}, without the data")
    yield _row("issue.branch_taken_cycles", 16, cycles, _GCN, f"{_AMD}, section 2.8.3")
    yield _row("issue.branch_taken_cycles", 20, cycles, _GCN, f"{_CLRX}, with a question mark")
    yield _row("issue.branch_not_taken_cycles", 4, cycles, _GCN, f"{_CLRX}; {_AMD}, section 2.8.3")
    for name, cycles_each in (
        ("lds_read_b32", 2),
        ("lds_read_b64", 4),
        ("lds_read_b128", 8),
        ("lds_write_b32", 4),
        ("lds_write_b64", 8),
        ("lds_add_u32", 4),
    ):
        yield _row(f"issue.{name}_rate", 1 / cycles_each, rate, _GCN, f"{_CLRX}: throughput 1/{cycles_each}")
    yield _row("lds.conflict_32", (32, math.inf), cycles, _GCN, f"{_CLRX}: not more than 1/32 a cycle")
    yield _row("loads.dword_linear", 4, cycles, _GCN, "GPUOpen, Memory Coalescing on GCN: 16 dwords a cycle at best")
    yield _row("loads.dword_linear", 8, cycles, _GCN, f"{_CLRX}: BUFFER_LOAD_DWORD, execution alone")
    yield _row("loads.dwordx2_linear", 18, cycles, _GCN, f"{_CLRX}: BUFFER_LOAD_DWORDX2, execution alone")
    yield _row("loads.dwordx4_linear", 16, cycles, _GCN, f"{_CLRX}: BUFFER_LOAD_DWORDX4, execution alone")
    yield _row("loads.dwordx2_to_dword", 4.33, "ratio", _FURY, f"{_PERFTEST}: 39.413 of 9.100 ms")
    yield _row("loads.dwordx4_to_dword", 3.85, "ratio", _FURY, f"{_PERFTEST}: 35.072 of 9.100 ms")
    yield _row("loads.random_to_linear", 3.85, "ratio", _FURY, f"{_PERFTEST}: 35.038 of 9.100 ms")
    yield _row("loads.random_to_linear_x4", 1.12, "ratio", _FURY, f"{_PERFTEST}: 39.149 of 35.072 ms")
    yield _row("stores.dword", 16, cycles, _GCN, f"{_CLRX}: BUFFER_STORE_DWORD, execution alone")
    yield _row("stores.dwordx4", (16, math.inf), cycles, _GCN, f"{_CLRX}: BUFFER_STORE_DWORDX4, execution alone")
    for vgprs, waves in zip((24, 28, 32, 36, 40, 48, 64, 84, 128, 256), (10, 9, 8, 7, 6, 5, 4, 3, 2, 1), strict=True):
        text = f"{_CLRX}, occupancy table"
        yield _row(f"occupancy.vgprs_{vgprs}", waves, "wavefronts/SIMD", _GCN, text, _BEFORE_CDNA2)
    for kib, waves in ((4, 16), (5, 12), (6, 10), (8, 8), (10, 6), (12, 5), (16, 4), (20, 3), (32, 2)):
        yield _row(f"occupancy.lds_{kib}", waves, "wavefronts/CU", _GCN, f"{_AMD}, table 2.2")


PUBLISHED: tuple[PublishedFigure, ...] = tuple(_rows())


def published(figure: str, architecture: str) -> list[PublishedFigure]:
    """Return the published figures for a name that are of GPUs of an architecture; none if nothing was found."""
    return [
        row
        for row in PUBLISHED
        if row.figure == figure and (not row.architectures or architecture in row.architectures)
    ]
