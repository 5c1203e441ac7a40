"""Constants with a notation of their own: wait counters, hardware registers, messages, swizzles, DPP, formats."""

_HARDWARE_REGISTERS = {
    1: "HW_REG_MODE",
    2: "HW_REG_STATUS",
    3: "HW_REG_TRAPSTS",
    4: "HW_REG_HW_ID",
    5: "HW_REG_GPR_ALLOC",
    6: "HW_REG_LDS_ALLOC",
    7: "HW_REG_IB_STS",
}
_GFX9_REGISTERS = {
    15: "HW_REG_SH_MEM_BASES",
    16: "HW_REG_TBA_LO",
    17: "HW_REG_TBA_HI",
    18: "HW_REG_TMA_LO",
    19: "HW_REG_TMA_HI",
}
_GFX942_REGISTERS = {
    20: "HW_REG_XCC_ID",
    21: "HW_REG_SQ_PERF_SNAPSHOT_DATA",
    22: "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
    23: "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
    24: "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
}


def waitcnt_text(simm16: int) -> str:
    """Write the counters that an s_waitcnt waits for; all of them where it waits for none (GCN3 ISA manual)."""
    return _waitcnt(simm16, simm16 & 15, 15)


def wide_waitcnt_text(simm16: int) -> str:
    """Write the same with a vmcnt of six bits, the upper two of them on top (Vega ISA manual, S_WAITCNT)."""
    return _waitcnt(simm16, simm16 & 15 | simm16 >> 14 << 4, 63)


def _waitcnt(simm16: int, vmcnt: int, most_vmcnt: int) -> str:
    counters = (("vmcnt", vmcnt, most_vmcnt), ("expcnt", simm16 >> 4 & 7, 7), ("lgkmcnt", simm16 >> 8 & 15, 15))
    waits_for_none = all(value == most for _, value, most in counters)
    return " ".join(f"{name}({value})" for name, value, most in counters if value != most or waits_for_none)


def hwreg_text(simm16: int) -> str:
    """Write the operand of s_getreg and s_setreg: register, first bit, number of bits."""
    return _hwreg(simm16, _HARDWARE_REGISTERS)


def hwreg9_text(simm16: int) -> str:
    """Write the same with the registers that GFX9 adds."""
    return _hwreg(simm16, _HARDWARE_REGISTERS | _GFX9_REGISTERS)


def hwreg942_text(simm16: int) -> str:
    """Write the same with the registers of gfx942."""
    return _hwreg(simm16, _HARDWARE_REGISTERS | _GFX9_REGISTERS | _GFX942_REGISTERS)


def _hwreg(simm16: int, names: dict[int, str]) -> str:
    number, offset, size = simm16 & 63, simm16 >> 6 & 31, (simm16 >> 11 & 31) + 1
    name = names.get(number, str(number))
    return f"hwreg({name})" if (offset, size) == (0, 32) else f"hwreg({name}, {offset}, {size})"


def gpr_idx_text(value: int) -> str:
    """Write the operand of s_set_gpr_idx_mode: the operands that are indexed."""
    names = [name for bit, name in enumerate(("SRC0", "SRC1", "SRC2", "DST")) if value >> bit & 1]
    return f"gpr_idx({','.join(names)})" if value < 16 else f"0x{value:x}"


_INTERRUPT, _GS, _GS_DONE, _SAVEWAVE, _SYSMSG = 1, 2, 3, 4, 15
_MESSAGES = {
    _INTERRUPT: "MSG_INTERRUPT",
    _GS: "MSG_GS",
    _GS_DONE: "MSG_GS_DONE",
    _SAVEWAVE: "MSG_SAVEWAVE",
    _SYSMSG: "MSG_SYSMSG",
}
_MESSAGES_9 = {
    5: "MSG_STALL_WAVE_GEN",
    6: "MSG_HALT_WAVES",
    7: "MSG_ORDERED_PS_DONE",
    8: "MSG_EARLY_PRIM_DEALLOC",
    9: "MSG_GS_ALLOC_REQ",
    10: "MSG_GET_DOORBELL",
}
_GEOMETRY = ("GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT")
_TRAP_ACK = 3
_SYSTEM = {
    1: "SYSMSG_OP_ECC_ERR_INTERRUPT",
    2: "SYSMSG_OP_REG_RD",
    _TRAP_ACK: "SYSMSG_OP_HOST_TRAP_ACK",
    4: "SYSMSG_OP_TTRACE_PC",
}


def message9_text(simm16: int) -> str:
    """Write the same for GFX9, which has more messages, and whose hosts do not acknowledge traps."""
    if (plain := simm16 & 0x37F) in _MESSAGES_9:  # the other bits have no meaning
        return f"sendmsg({_MESSAGES_9[plain]})"
    if simm16 & 0x7F == _SYSMSG | _TRAP_ACK << 4:
        return f"sendmsg({_SYSMSG}, {_TRAP_ACK}, {simm16 >> 8 & 3})" if simm16 & 0xFC80 == 0 else str(simm16)
    return message_text(simm16)


def message_text(simm16: int) -> str:
    """Write the operand of s_sendmsg: message, operation, stream; numbers stand where names are not defined."""
    number, operation, stream = simm16 & 15, simm16 >> 4 & 7, simm16 >> 8 & 3
    name = _MESSAGES.get(number)
    if number in (_GS, _GS_DONE) and 0 < operation < len(_GEOMETRY):
        return f"sendmsg({name}, {_GEOMETRY[operation]}, {stream})"
    if number == _GS_DONE and operation == 0 and stream == 0:
        return f"sendmsg({name}, {_GEOMETRY[0]})"
    if number == _SYSMSG and operation in _SYSTEM and stream == 0:
        return f"sendmsg({name}, {_SYSTEM[operation]})"
    if number in (_INTERRUPT, _SAVEWAVE) and operation == 0 and stream == 0:
        return f"sendmsg({name})"
    plain = number | operation << 4 | stream << 8
    return f"sendmsg({number}, {operation}, {stream})" if plain == simm16 else str(simm16)


def swizzle_text(offset: int) -> str:
    """Write the pattern of ds_swizzle_b32, quad permutation or masks on the lane (GCN3 ISA manual, DS_SWIZZLE_B32)."""
    if offset & 0xFF00 == 0x8000:
        return "swizzle(QUAD_PERM," + ",".join(str(offset >> 2 * i & 3) for i in range(4)) + ")"
    if offset & 0x8000:
        return str(offset)
    keep, force, flip = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    if keep == 31 and force == 0 and flip and flip & (flip - 1) == 0:
        return f"swizzle(SWAP,{flip})"
    if keep == 31 and force == 0 and flip and flip & (flip + 1) == 0:
        return f"swizzle(REVERSE,{flip + 1})"
    group = 32 - keep
    if group > 1 and group & (group - 1) == 0 and force < group and flip == 0:
        return f"swizzle(BROADCAST,{group},{force})"
    marks = ""
    for bit in range(4, -1, -1):
        low = force >> bit & 1 ^ flip >> bit & 1
        high = (keep | force) >> bit & 1 ^ flip >> bit & 1
        marks += str(low) if low == high else "i" if low else "p"
    return f'swizzle(BITMASK_PERM,"{marks}")'


def dpp_text(fields: dict[str, int]) -> str:
    """Write the lane pattern and masks of a DPP word (GCN3 ISA manual, section on DPP)."""
    text = f" {_dpp_control(fields['dpp_ctrl'])} row_mask:0x{fields['row_mask']:x} bank_mask:0x{fields['bank_mask']:x}"
    return text + (" bound_ctrl:1" if fields["bound_ctrl"] else "")


_DPP_NAMES = {
    0x130: "wave_shl:1",
    0x134: "wave_rol:1",
    0x138: "wave_shr:1",
    0x13C: "wave_ror:1",
    0x140: "row_mirror",
    0x141: "row_half_mirror",
    0x142: "row_bcast:15",
    0x143: "row_bcast:31",
}


def _dpp_control(control: int) -> str:
    if control < 0x100:
        return "quad_perm:[" + ",".join(str(control >> 2 * i & 3) for i in range(4)) + "]"
    for first, name in ((0x100, "row_shl"), (0x110, "row_shr"), (0x120, "row_ror")):
        if first < control < first + 16:
            return f"{name}:{control - first}"
    if control >> 4 == 0x15:
        return f"row_newbcast:{control & 15}"
    return _DPP_NAMES.get(control, "/* Invalid dpp_ctrl value */")


_DATA_FORMATS = (
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
)
_NUMBER_FORMATS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT")
_DEFAULT_DATA_FORMAT, _DEFAULT_NUMBER_FORMAT = 1, 0


def buffer_format_text(dfmt: int, nfmt: int) -> str:
    """Write the formats of a typed buffer access; the default (8, UNORM) is not written."""
    names = []
    if dfmt != _DEFAULT_DATA_FORMAT:
        names.append(f"BUF_DATA_FORMAT_{_DATA_FORMATS[dfmt]}")
    if nfmt != _DEFAULT_NUMBER_FORMAT:
        names.append(f"BUF_NUM_FORMAT_{_NUMBER_FORMATS[nfmt]}")
    return f" format:[{','.join(names)}]" if names else ""
