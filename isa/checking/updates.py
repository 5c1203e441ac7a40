"""Whether a store writes back what a load gave, changed by a value that differs from lane to lane.

Lanes that read a word and write it back in one instruction lose all updates but one. Where the arrays hold zeros, all
lanes write what is there already, which looks like a harmless store. The program tells them apart: what such a store
writes follows from the load of the same word, and from something that differs between lanes. To fill arrays at random
was refused: they may hold indices.
"""

from collections.abc import Sequence

from isa.architecture import EXEC, FIRST_VGPR, M0
from isa.encoding.instruction import Instruction
from isa.encoding.register_index import successors
from isa.encoding.registers import address_registers, registers

_WORK_ITEM = 7 << FIRST_VGPR  # v0 to v2 begin as the work-item's identifiers
_UNIFORM = ("v_readlane", "v_readfirstlane")  # one lane's value
_LANE_NUMBER = "v_mbcnt"


def writes_back(instructions: Sequence[Instruction], store: int, load: int) -> bool:
    """Tell whether a store's data follow from a load and differ between lanes, along some path through the program.

    Args:
        instructions: the program in address order.
        store: number of the store.
        load: number of the load of the same word.

    Returns:
        Whether they do. Values that pass through memory are not followed.
    """
    accesses = [registers(instruction) for instruction in instructions]
    data = _store_data(instructions[store])
    after = successors(instructions)
    loaded = [-1] * len(instructions)  # registers that follow from the load, before each instruction; -1: not reached
    varying = [0] * len(instructions)  # those that differ between lanes
    loaded[0], varying[0] = 0, _WORK_ITEM
    pending = [0]
    while pending:
        number = pending.pop()
        reads, writes = accesses[number]
        from_load = number == load or bool(reads & loaded[number])
        # lanes that load the same word have the same value, however they came by its address
        differs = number != load and _differs(instructions[number], reads, varying[number])
        out_loaded = loaded[number] & ~writes | (writes if from_load else 0)
        out_varying = varying[number] & ~writes | (writes if differs else 0)
        for following in after[number]:
            merged = max(loaded[following], 0) | out_loaded, varying[following] | out_varying
            if merged != (loaded[following], varying[following]):
                loaded[following], varying[following] = merged
                pending.append(following)
    return loaded[store] >= 0 and bool(data & loaded[store]) and bool(data & varying[store])


def _store_data(instruction: Instruction) -> int:
    """Return the vector registers whose values a store writes."""
    reads, _ = registers(instruction)
    return (reads & ~address_registers(instruction)) >> FIRST_VGPR << FIRST_VGPR


def _differs(instruction: Instruction, reads: int, varying: int) -> bool:
    """Tell whether an instruction's result may differ between lanes."""
    name = instruction.opcode.mnemonic
    if name.startswith(_UNIFORM):
        return False
    return name.startswith(_LANE_NUMBER) or bool(reads & varying & ~(3 << EXEC | 1 << M0))
