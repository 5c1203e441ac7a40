"""Wavefronts on the timeline: residence in a slot, and inside it where every cycle went."""

from collections.abc import Sequence

from gpusim.base.jit import Machine
from gpusim.model.core.cu import state as cu
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.model.core.cu.spec import SIMDS
from gpusim.results.timeline.matrix_units import MatrixUnitTracks
from gpusim.results.timeline.trace_file import TraceFile
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import Instruction

READY = "ready"  # cut off before it was known whether its pipe was blocked or another wavefront went first
_REASON_OF_STATE = {
    cu.WAITING: cu.MEMORY,
    cu.VM_FULL: cu.THROTTLE,
    cu.LGKM_FULL: cu.THROTTLE,
    cu.AT_BARRIER: cu.SYNCHRONIZATION,
    cu.FETCHING: cu.FETCH,
}


class WavefrontTracks:
    """A track for each wavefront slot that is used.

    A slot is free for the next wavefront in the cycle in which s_endpgm issues, and s_endpgm takes a turn of four
    cycles: the next wavefront is drawn from the end of that turn on.
    """

    def __init__(self, out: TraceFile, cus: list[int], instructions: Sequence[Instruction], limit: int) -> None:
        """Make a track for each CU's slots when they are used.

        Args:
            cus: The track of each CU.
            instructions: The kernel's, by static index.
            limit: Cycle after which nothing is drawn.
        """
        self._out, self._cus = out, cus
        self._mnemonics = [one.opcode.mnemonic for one in instructions]
        self._at = [{"at": f"{one.address:#x} {disassemble(one)}"} for one in instructions]
        self._matrix_units = MatrixUnitTracks(out, cus, instructions, limit)
        self._tracks: dict[int, int] = {}
        self._wavefronts: dict[int, tuple[int, int, int]] = {}  # slot: workgroup, wavefront, cycle of dispatch
        self._accounted: dict[int, int] = {}  # slot: cycle up to which its time is accounted for
        self._drawn: dict[int, int] = {}  # slot: cycle up to which its track is taken
        self._shown: set[int] = set()  # slots with an open slice
        self._open = False
        self._limit = limit

    def placed(self, cycle: int, wave: int, workgroup: int, number: int) -> None:
        """Note that a wavefront gets slot `w`."""
        self._wavefronts[wave] = (workgroup, number, cycle)
        self._accounted[wave] = cycle
        if self._open:
            self._drawn[wave] = max(cycle, self._drawn.get(wave, 0))

    def charged(self, wave: int, reason: int, pc: int, cycles: int) -> None:
        """Draw the wavefront's next `cycles` as spent on `reason`, in front of or on static instruction `pc`."""
        begin = self._accounted[wave]
        end = self._accounted[wave] = begin + cycles
        name = self._mnemonics[pc] if reason == cu.ISSUED else STALL_REASONS[reason]
        self._draw(wave, begin, end, name, STALL_REASONS[reason], self._at[pc])
        if reason == cu.ISSUED:
            self._matrix_units.issued(begin, wave, pc, name, self._at[pc])

    def ended(self, wave: int, cycle: int) -> None:
        """End the wavefront's residence; its time is accounted for up to `cycle`."""
        del self._wavefronts[wave], self._accounted[wave]
        self._end(wave, min(cycle, self._limit))

    def open(self, m: Machine, cycle: int) -> None:
        """Begin to draw in `cycle`, with the wavefronts that are resident then."""
        self._open = True
        for w in self._wavefronts:
            self._accounted[w] = int(m.cu.wave[w].mark)
            self._drawn[w] = max(cycle, self._drawn.get(w, 0))
            # an instruction is charged its whole turn when it issues; which one it was is not known any more
            self._draw(w, cycle, self._accounted[w], STALL_REASONS[cu.ISSUED], STALL_REASONS[cu.ISSUED], {})

    def close(self, m: Machine, cycle: int) -> None:
        """Stop drawing in `cycle`, where the states of resident wavefronts are cut off."""
        for w in self._wavefronts:
            begin = self._accounted[w]
            if begin < cycle and m.cu.wave[w].state != cu.FREE:
                state = int(m.cu.wave[w].state)
                reason = int(m.cu.wave[w].pause_reason) if state == cu.PAUSED else _REASON_OF_STATE.get(state)
                name = READY if reason is None else STALL_REASONS[reason]
                self._draw(w, begin, cycle, name, name, self._at[int(m.cu.wave[w].pc)])
            self._end(w, max(cycle, self._drawn[w]))
        self._open = False

    def _draw(self, wave: int, begin: int, end: int, name: str, category: str, notes: dict[str, str]) -> None:
        begin, end = max(begin, self._drawn[wave]), min(end, self._limit)
        if end > begin:
            if wave not in self._shown:
                self._begin(wave, begin)
            self._out.slice(self._tracks[wave], begin, end, name, category, notes)
            self._drawn[wave] = end

    def _begin(self, wave: int, cycle: int) -> None:
        workgroup, number, dispatched = self._wavefronts[wave]
        if wave not in self._tracks:
            rank = wave & (cu.SLOTS - 1)
            simd, slot = divmod(rank, 1 << cu.SIMD_BITS)
            assert simd < SIMDS
            self._tracks[wave] = self._out.track(f"SIMD {simd} slot {slot}", self._cus[wave >> cu.CU_BITS], rank)
        notes = {"workgroup": workgroup, "wavefront": number, "dispatched in cycle": dispatched}
        self._out.begin(self._tracks[wave], cycle, f"workgroup {workgroup} wavefront {number}", "wavefront", notes)
        self._shown.add(wave)

    def _end(self, wave: int, cycle: int) -> None:
        if wave in self._shown:
            self._shown.remove(wave)
            self._out.end(self._tracks[wave], cycle)
