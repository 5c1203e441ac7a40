"""The program table: one record an instruction, what the interpreter needs to execute it.

Groups of fields that an instruction does not use stay 0. A register is named by its byte offset in the wavefront's
vector or scalar registers.
"""

from typing import TYPE_CHECKING, Any

from gpusim.base.jit import Field, State, i32, record_at, record_type

SOURCES = 3
BROADCAST_ROWS = -1  # `source` while a program is built: the first scratch row, whose offset is not known yet

PROGRAM_ROW = State(
    "row",
    {
        # one host line: all that plain arithmetic needs
        "kind": Field((), "case of the interpreter (`codes.Kind`)", i32),
        "unit": Field((), "functional unit (`opcodes.UNIT_NAMES`)", i32),
        "function": Field((), "address of the lane library's operation"),
        "source": Field((SOURCES,), "address of a constant; where `source_relative`, byte offset of a register"),
        "source_relative": Field((SOURCES,), "-1: `source` counts from the registers' address; 0: it is one", i32),
        "destination": Field((), "byte offset of the first destination register; of a scalar store, of its data", i32),
        "mask_in": Field((), "byte offset of the lane mask or MODE that is read, in the scalar registers", i32),
        "mask_out": Field((), "byte offset of the lane mask that is written, in the scalar registers", i32),
        # the next: memory instructions
        "patterns": Field((), "address of the first of its access patterns"),
        "access": Field((), "load, store or atomic (`codes.Access`)", i32),
        "size": Field((), "bytes of a lane; of a scalar access in all", i32),
        "signed": Field((), "how a narrow load fills its register (`codes.SIGNED`, ...)", i32),
        "address": Field((), "byte offset of the lane addresses' first register", i32),
        "data": Field((), "byte offset of the stored data, or an atomic's operand", i32),
        "data1": Field((), "byte offset of the second one: of a second address, or what an atomic compares with", i32),
        "offset": Field((), "bytes added to an address", i32),
        "offset1": Field((), "the same of a DS instruction's second address; of a buffer, a constant scalar one", i32),
        "atomic": Field((), "operation of an atomic (`codes.Atomic`)", i32),
        "returns": Field((), "1: an atomic returns the old value; s_*_wrexec the new EXEC", i32),
        "paired": Field((), "1: a DS instruction with two addresses a lane", i32),
        "alignment": Field((), "bytes that an address of a DS instruction has to be a multiple of", i32),
        "sparse": Field((), "1: a load with the sparse mark", i32),
        "to_lds": Field((), "1: what it loads goes to LDS, where M0 says, by way of `destination`", i32),
        "scalar_offset": Field((), "byte offset of the scalar register added to an address; -1: none", i32),
        "resource": Field((), "byte offset of the scalar address or the buffer resource", i32),
        "addressing": Field(
            (), "which vector registers an address has (`codes.OFFSET_ENABLE`, `WIDE_ADDRESS`, ...)", i32
        ),
        "exchange": Field((), "form of a lane exchange (`codes.LaneExchange`)", i32),
        "scalar_form": Field((), "form of a scalar memory instruction (`codes.ScalarForm`)", i32),
        # operands of scalar arithmetic, and of vector arithmetic with more than vector registers and constants
        "source_dwords": Field((SOURCES,), "registers of a source; scalar arithmetic: 0 for none", i32),
        "destination_dwords": Field((), "registers written; 0 for none", i32),
        "scalar": Field((), "VALU_ONE_SCALAR: byte offset of the scalar register", i32),
        "scalar_dwords": Field((), "VALU_ONE_SCALAR: its dwords that are broadcast into the scratch rows", i32),
        "source_indexed": Field((SOURCES,), "VALU_INDEXED: -1: M0's index moves the source's register", i32),
        "destination_indexed": Field((), "VALU_INDEXED: the same of the destination", i32),
        "source_scalar": Field((SOURCES,), "byte offset of the scalar register that is broadcast; -1: none", i32),
        "source_sdwa": Field((SOURCES,), "1: a part of the source is selected", i32),
        "source_select": Field((SOURCES,), "which part: SDWA's selection", i32),
        "source_extend": Field((SOURCES,), "1: the part's sign is extended", i32),
        "source_sign": Field((SOURCES,), "address of the helper that changes the source's sign; 0: none"),
        "source_sign_flags": Field((SOURCES,), "whether it negates, takes the absolute value (`lanes.NEG_FLAG`)", i32),
        "reads_status": Field((), "1: SCC, VCCZ or EXECZ is a source", i32),
        "mode_with_destination": Field((), "1: the operation takes MODE with its destination's address", i32),
        # result modifiers
        "output": Field((), "address of the helper of omod and clamp; 0: none"),
        "output_flags": Field((), "omod and clamp as the helper takes them", i32),
        "output_refused_by": Field((), "MODE bits any of which turns omod off", i32),
        "saturation": Field((), "clamp of an integer sum (`codes.Saturation`)", i32),
        "writes_exec": Field((), "1: the lane mask goes to EXEC as well (v_cmpx)", i32),
        "merges": Field((), "1: SDWA writes a part of the destination", i32),
        "merge_select": Field((), "which part", i32),
        "merge_unused": Field((), "what becomes of the rest: SDWA's dst_unused", i32),
        "dpp": Field((), "1: the first source comes from other lanes", i32),
        "dpp_control": Field((), "which lanes: DPP's control", i32),
        "dpp_bound": Field((), "DPP's bound control", i32),
        "dpp_lanes": Field((), "lanes that DPP's row and bank masks leave writable"),
        # branches, program counter, special registers
        "target": Field((), "index of the instruction a branch goes to", i32),
        "condition": Field((), "when it is taken (`codes.Condition`)", i32),
        "next_byte": Field((), "byte offset of the next instruction in the code", i32),
        "hardware_register": Field((), "number, offset and size as s_getreg and s_setreg encode them", i32),
        "relative": Field((), "side of a relative move that M0 is added to (`codes.RELATIVE_SOURCE`, ...)", i32),
        # images
        "texels": Field((), "where its texels lie (`codes.Texels`)", i32),
        "image_parts": Field((), "what its address has (`codes.TEXEL_OFFSETS`, ...)", i32),
        "components": Field((), "bit for each component of a texel that it loads or stores", i32),
        "sampler": Field((), "byte offset of its sampler in the scalar registers", i32),
        "flops": Field((), "floating-point operations of a lane, as `isa.trace` has those of a slice"),
    },
)

row_at = record_at(PROGRAM_ROW)

if TYPE_CHECKING:
    ProgramRow = Any
else:
    ProgramRow = record_type(PROGRAM_ROW)
