"""Does a slice keep what a register holds in lanes that a later write leaves alone, and only that?"""

import struct

import pytest

from isa.encoding.decoder import decode
from isa.encoding.register_index import successors
from isa.encoding.registers import vgpr_mask
from isa.execution.wanted import mark

V_MOV_V1_S0, V_MOV_V1_V2, END = 0x7E020200, 0x7E020302, 0xBF810000
SAVE_ALL, NOT_ALL = 0xBE84017E, 0xBE84057E  # s[4:5] = EXEC, s[4:5] = ~EXEC
NARROW, FEWER = 0xBE86206A, 0xBEFE0102  # s_and_saveexec_b64 s[6:7], vcc; s_mov_b64 exec, s[2:3]
FROM_4, ALSO_6 = 0xBEFE0104, 0x87FE067E  # s_mov_b64 exec, s[4:5]; s_or_b64 exec, exec, s[6:7]


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        # nothing switches lanes: the last write is all
        ([V_MOV_V1_S0, V_MOV_V1_V2, END], [1]),
        # the branch's lanes are written, the others keep what was there
        ([V_MOV_V1_S0, NARROW, V_MOV_V1_V2, ALSO_6, END], [0, 2]),
        # written after the branch again, in all its lanes: what was before it and in it is not wanted
        ([V_MOV_V1_S0, NARROW, V_MOV_V1_V2, ALSO_6, V_MOV_V1_V2, END], [4]),
        # written before the branch, wanted in it and after it
        ([V_MOV_V1_S0, V_MOV_V1_V2, NARROW, ALSO_6, END], [1]),
        # a mask of other lanes, or of who knows which, keeps all writes
        ([V_MOV_V1_S0, NOT_ALL, FEWER, V_MOV_V1_V2, FROM_4, END], [0, 3]),
        # the saved mask's lanes are those of before
        ([V_MOV_V1_S0, V_MOV_V1_V2, SAVE_ALL, FEWER, FROM_4, END], [1]),
    ],
)
def test_writes_are_wanted_of_lanes(code: list[int], wanted: list[int]) -> None:
    instructions = decode(struct.pack(f"<{len(code)}I", *code))
    marked = [False] * len(code)
    asked = [0] * (len(code) - 1) + [vgpr_mask(1)]
    mark(marked, instructions, successors(instructions), asked)
    assert [k for k, word in enumerate(code) if marked[k] and word in (V_MOV_V1_S0, V_MOV_V1_V2)] == wanted
