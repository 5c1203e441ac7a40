"""Which address bits choose an L2 channel (and a DRAM bank: dram_mapping.py), read off by stores that meet in channels.

All compute units store to the same lines, so that the busiest channel sets the pace: lines at all sums of some address
bits go to 2^r channels, where r is the rank of these bits, and take 2^(bits - r) times as long as one line. Ranks tell
the channel's number but for what the channels are called: its masks, in reduced form.
"""

from collections.abc import Sequence
from itertools import product
from math import log2

from gpusim.lab.microbench.bench import GROUP_WAVES, LANES, LINE_BYTES, Bench, MicrobenchResults
from gpusim.lab.microbench.dram_mapping import NEEDED_BYTES, bank_masks
from gpusim.lab.microbench.launches import lane_table, timed_loop
from isa.device_memory import Allocation, DeviceMemory

FIRST_BIT = LINE_BYTES.bit_length() - 1
LEAST_CUS = 16  # a store takes its unit 16 cycles: fewer of them do not keep one channel busy
BITS = 12  # looked at, from that which tells lines apart


class _ChannelProbe:
    """Ranks of address bits, by the time that stores take."""

    def __init__(self, bench: Bench, bits: int) -> None:
        self._bench = bench
        self._memory: DeviceMemory = bench.memory()
        # twice as much as the bits reach, so that it has a place where they are all 0
        self._held: Allocation = self._memory.allocate(2 << (FIRST_BIT + bits), "lines")
        self._one = self._cycles(())

    def _cycles(self, bits: Sequence[int]) -> float:
        reach = self._held.size_bytes // 2
        first = -(-self._held.address // reach) * reach
        lines = [first + sum(chosen) for chosen in product(*((0, 1 << bit) for bit in bits))]
        lanes = [lines[lane % len(lines)] + 4 * (lane // len(lines)) % LINE_BYTES for lane in range(LANES)]
        table = lane_table(self._memory, lanes)
        gpu = self._bench.gpu
        return timed_loop(self._bench, "store_dword", self._memory, table, gpu.cus, GROUP_WAVES, gpu=gpu, iterations=2)

    def rank(self, bits: Sequence[int]) -> int:
        """Return the log2 of the channels that lines at all sums of these address bits go to."""
        return len(bits) - round(log2(self._cycles(bits) / self._one))


def channel_masks(bench: Bench, bits: int = BITS) -> list[int]:
    """Return the masks of an L2 channel's number in reduced form: each has an address bit that no other has."""
    channels = _ChannelProbe(bench, bits)
    own: list[int] = []
    others = []
    for bit in range(FIRST_BIT, FIRST_BIT + bits):
        if channels.rank([*own, bit]) > len(own):
            own.append(bit)
        else:
            others.append(bit)
    masks = [1 << bit for bit in own]
    for bit in bench.each("mapping: address bits of L2 channels", others):
        for row in range(len(own)):
            if channels.rank([*own[:row], *own[row + 1 :], bit]) == len(own):
                masks[row] |= 1 << bit
    return masks


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Number of L2 channels, where all compute units can keep one busy, and of DRAM banks; the address bits of each."""
    if bench.gpu.cus >= LEAST_CUS:
        _add(results, "l2", "channel", "L2 channels", channel_masks(bench))
    if bench.gpu.memory_mib << 20 >= NEEDED_BYTES:
        _add(results, "dram", "bank", "DRAM banks of all channels", bank_masks(bench))


def _add(results: MicrobenchResults, level: str, part: str, counted: str, masks: Sequence[int]) -> None:
    if not masks:  # nothing was there to tell them apart by
        return
    results.add(f"mapping.{level}_{part}s", counted, 1 << len(masks), f"{part}s")
    for row, mask in enumerate(masks):
        bits = " ^ ".join(str(bit) for bit in range(mask.bit_length()) if mask >> bit & 1)
        what = f"address bits {bits}: bit {row} of the number of {counted}"
        results.add(f"mapping.{level}_bit_{row}", what, mask.bit_count(), "address bits")
