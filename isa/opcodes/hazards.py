"""Hazards: pairs of instructions that need wait states between them, since the hardware does not check them.

Facts alone: name, wait states, source. Which instructions a name means is in `isa.encoding.hazards`. BASE_HAZARDS are
gfx803's; what a generation adds is in its extension, as its instructions are. The Vega ISA manual's list (section 4.5)
has all of these too, with the same wait states.
"""

from typing import NamedTuple

from isa.opcodes.opcode import Opcode


class Hazard(NamedTuple):
    """A rule: between `first` and `second` the code must have `wait_states`."""

    name: str
    """Name, which `isa.encoding.hazards` gives its meaning."""
    first: str
    """The first instruction, in words."""
    second: str
    """The second instruction, in words."""
    wait_states: int | dict[int, int]
    """How many; by the passes of the matrix product that is first where they decide (no entry: none)."""
    source: str
    """Where the rule is written."""

    @property
    def most(self) -> int:
        """The most wait states that any first instruction needs."""
        return self.wait_states if isinstance(self.wait_states, int) else max(self.wait_states.values())

    def needed_after(self, opcode: Opcode) -> int:
        """Return the wait states needed after a first instruction with this opcode."""
        return self.wait_states if isinstance(self.wait_states, int) else self.wait_states.get(opcode.passes, 0)


_MANUAL = "GCN3 ISA manual, chapter 4: manually inserted wait states"
_COMPILERS = f"{_MANUAL}; LLVM GCNHazardRecognizer and Mesa aco_insert_NOPs for GFX8"
_MESA = f"{_MANUAL}; Mesa aco_insert_NOPs for GFX8"
_LLVM = f"{_MANUAL}; LLVM GCNHazardRecognizer for GFX8"

BASE_HAZARDS = (
    Hazard("setreg", "s_setreg", "s_getreg or s_setreg of the same register", 2, _COMPILERS),
    Hazard("vskip-getreg", "s_setvskip", "s_getreg of MODE", 2, _MANUAL),
    Hazard("vskip-vector", "s_setreg of MODE.vskip", "a vector instruction", 2, _MESA),
    Hazard("trapsts-rfe", "s_setreg of TRAPSTS", "s_rfe, s_rfe_restore", 1, _LLVM),
    Hazard("valu-vccz", "VALU writes VCC", "VALU reads VCCZ as data", 5, _MESA),
    Hazard("valu-execz", "VALU writes EXEC", "VALU reads EXECZ as data", 5, _MESA),
    Hazard("valu-lane", "VALU writes an SGPR, VCC", "its use as lane select", 4, _COMPILERS),
    Hazard("valu-div-fmas", "VALU writes VCC", "v_div_fmas", 4, _COMPILERS),
    Hazard("valu-vmem", "VALU writes an SGPR, VCC", "VMEM reads it", 5, _COMPILERS),
    Hazard("valu-dpp", "VALU writes a VGPR", "a DPP instruction reads it", 2, _COMPILERS),
    Hazard("exec-dpp", "VALU writes EXEC", "a DPP instruction", 5, _COMPILERS),
    Hazard("m0-message", "SALU writes M0", "GDS, s_sendmsg, s_ttracedata", 1, _COMPILERS),
    Hazard(
        "wide-store",
        "a store or compare-and-swap of more than 64 bits (without an SGPR as buffer offset)",
        "VALU writes its data VGPRs",
        1,
        _COMPILERS,
    ),
)
