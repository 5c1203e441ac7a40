"""Specification of a whole GPU: the parts, their clocks and how many of each."""

from pydantic import model_validator

from gpusim.base.formats import GENERAL
from gpusim.base.spec import Spec, param
from gpusim.model.core.cu.dispatch_spec import DispatchSpec
from gpusim.model.core.cu.spec import ComputeUnitSpec
from gpusim.model.core.levels import ABOVE_L2, ARRAY, CHANNEL, CU, LEVELS, CacheLevel
from isa.opcodes import ARCHITECTURES
from memory.cache.instruction import InstructionCacheSpec
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import L2Spec
from memory.cache.scalar import ScalarCacheSpec
from memory.dram.mapping import check_mapping
from memory.dram.spec import DramSpec
from memory.network.state import MAX_CUS, RESPONSE_DEPTH, CrossbarSpec
from memory.translation.spec import TranslationSpec

CACHES = ("flushed", "warm")  # what a launch may find in L2 and the TLBs


def _power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


class HostLinkSpec(Spec):
    """The link to the host, which copies between host and device memory take: PCI Express 3.0, 16 lanes."""

    bandwidth_gb_s: float = param(
        15.754,
        "bytes of packets in one direction, GB/s",
        "PCI Express Base Specification 3.0: 16 lanes x 8 GT/s x 128/130",
        gt=0,
        le=1000,
    )
    payload_bytes: int = param(
        256, "data of a packet", "assumed: the largest payload that root complexes usually allow", ge=16, le=4096
    )
    overhead_bytes: int = param(
        24,
        "framing, header and check sum of a packet",
        "PCI Express Base Specification 3.0: 4 of framing and sequence number, 16 of header, 4 of LCRC",
        ge=0,
        le=256,
    )
    latency_us: float = param(
        10.0,
        "from a copy's turn to its first byte, in microseconds",
        "assumed: twice a kernel's launch, for the copy engine's packet and its completion signal",
        ge=0,
        le=1e6,
    )

    def copy_us(self, size_bytes: int) -> float:
        """Return the time in microseconds of a copy between host and device, the same in both directions."""
        sent_bytes = size_bytes + -(-size_bytes // self.payload_bytes) * self.overhead_bytes
        return self.latency_us + sent_bytes / (self.bandwidth_gb_s * 1e3)


class GpuSpec(Spec):
    """A GPU; the defaults are the Radeon Instinct MI6 of the source's evaluation."""

    name: str = param("MI6", "name in reports", "Dong 2020, table 6.3")
    architecture: str = param(
        "gfx803",
        "instruction set of its code objects",
        "LLVM AMDGPU guide, processors: Radeon Instinct MI6",
        among=ARCHITECTURES,
    )
    clock_ghz: float = param(1.237, "core clock in GHz", "AMD Radeon Instinct MI6 data sheet", ge=0.01, le=10)
    shader_arrays: int = param(
        9, "shader arrays, served in turn by the dispatcher", "Dong 2020, table 6.3", ge=1, le=64
    )
    cus_per_array: int = param(4, "compute units of a shader array", "Dong 2020, table 6.3: 36 CUs", ge=1, le=64)
    memory_mib: int = param(4096, "device memory in MiB", "Dong 2020, table 6.3", ge=1, le=65536)
    kernel_launch_us: float = param(
        5.0,
        "host and command processor time before a kernel starts, in microseconds",
        "assumed: ROCm launches",
        ge=0,
        le=1e6,
    )
    caches: str = param(
        "flushed",
        "L2 and TLBs at a launch: 'flushed', empty, or 'warm', with what the launch before left; first-level caches are"
        " empty at each, but for instruction caches that are kept",
        "flushed: a dispatch packet of AMD's OpenCL runtime acquires at system scope (ROCm/ROCm-OpenCL-Runtime #114),"
        " which the command processor does by emptying L2 (ROCm/amdgpu #16); an acquire at agent scope leaves L2 alone"
        " (ROCm/rocm-systems #9559)",
        among=CACHES,
    )
    replacement_seed: int = param(
        1, "where caches and TLBs with random replacement begin to draw", "any: it tells runs apart", ge=0, le=999_999
    )
    host_link: HostLinkSpec = HostLinkSpec()
    dispatch: DispatchSpec = DispatchSpec()
    cu: ComputeUnitSpec = ComputeUnitSpec()
    l1: L1Spec = L1Spec()
    scalar_cache: ScalarCacheSpec = ScalarCacheSpec()
    instruction_cache: InstructionCacheSpec = InstructionCacheSpec()
    translation: TranslationSpec = TranslationSpec()
    crossbar: CrossbarSpec = CrossbarSpec()
    l2: L2Spec = L2Spec()
    dram: DramSpec = DramSpec()

    @property
    def cus(self) -> int:
        """Number of compute units."""
        return self.shader_arrays * self.cus_per_array

    @property
    def levels(self) -> tuple[CacheLevel, ...]:
        """Cache levels that the GPU has: all but those between that its configuration leaves out."""
        return tuple(level for level in LEVELS if not level.takes or getattr(self, level.section).model != "none")

    def caches_of(self, owner: str) -> int:
        """Return the number of caches of a level that each `owner` has one of (`gpusim.model.core.levels`)."""
        return {CU: self.cus, ARRAY: self.shader_arrays, CHANNEL: self.l2.channels}[owner]

    def why_foreign(self, code: str) -> str:
        """Return why the GPU cannot execute code that is built for the GPU `code`, '' if it can."""
        if code == self.architecture:
            return ""
        return (
            f"is built for {code}, and the GPU {self.name} executes {self.architecture}: a GPU with"
            f" `architecture: {code}` could run it"
        )

    @property
    def clock_hz(self) -> float:
        """Core clock in hertz."""
        return self.clock_ghz * 1e9

    def with_l1_bypass(self, bypass: bool) -> "GpuSpec":
        """Return the GPU with `l1.bypass` as given; raise ValueError where the L1 does not allow it."""
        if bypass == self.l1.bypass:
            return self
        l1 = self.l1.model_copy(update={"bypass": bypass})
        l1.check_bypass()
        return self.model_copy(update={"l1": l1})

    @model_validator(mode="after")
    def _fits(self) -> "GpuSpec":
        if self.cus > MAX_CUS:
            raise ValueError(
                f"shader_arrays x cus_per_array = {self.cus} compute units; at most {MAX_CUS} can be simulated"
            )
        for level in ABOVE_L2:
            cache = getattr(self, level.section)
            lines = cache.size_kib * 16
            if lines % cache.ways or not _power_of_two(lines // cache.ways):
                raise ValueError(
                    f"{level.section}: {cache.size_kib} KiB in {cache.ways} ways of 64-byte lines gives "
                    f"{GENERAL(lines / cache.ways)} sets; allowed is a power of two"
                )
        if not _power_of_two(self.instruction_cache.banks):
            raise ValueError(f"instruction_cache.banks: {self.instruction_cache.banks} is not a power of two")
        if not _power_of_two(self.l2.channels):
            raise ValueError(f"l2.channels: {self.l2.channels} is not a power of two")
        if not _power_of_two(self.l2.interleave_bytes):
            raise ValueError(f"l2.interleave_bytes: {self.l2.interleave_bytes} is not a power of two")
        self.l2.check_channels()
        check_mapping(self.dram, self.l2.interleave_bytes)
        pages, ways = self.translation.l2_entries, self.translation.l2_ways
        if pages % ways or not _power_of_two(pages // ways):
            raise ValueError(
                f"translation: {pages} L2 TLB entries in {ways} ways give {GENERAL(pages / ways)} sets; allowed is a "
                "power of two"
            )
        answers = self.crossbar.answer_credits(self.l2.latency_cycles) + self.l2.mshr_targets_per_channel
        if answers > RESPONSE_DEPTH:
            raise ValueError(
                "crossbar.response_queue_packets + the latencies of request and response + l2.latency_cycles + "
                f"l2.mshr_targets_per_channel = {answers} answers that a channel may have under way; allowed are "
                f"{RESPONSE_DEPTH}"
            )
        l2_sets = self.l2.size_kib * 1024 / self.l2.line_bytes / self.l2.channels / self.l2.ways
        if l2_sets != int(l2_sets) or not _power_of_two(int(l2_sets)) or l2_sets < 2:
            raise ValueError(
                f"l2: {self.l2.size_kib} KiB over {self.l2.channels} channels of {self.l2.ways} ways of "
                f"{self.l2.line_bytes}-byte lines gives {GENERAL(l2_sets)} sets a channel; allowed is a power of two "
                "of at least 2"
            )
        return self
