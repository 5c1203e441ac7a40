"""What the compute units and the run of a grid count: instructions by kind, wavefront-cycles by stall reason, work."""

from gpusim.base.counters import EACH, Counter, CounterTable
from gpusim.model.core.cu.spec import MATRIX
from isa.opcodes.float_operations import PRECISIONS
from isa.opcodes.opcode import BRANCH, INTERNAL, LDS, SALU, SMEM, VALU, VMEM

# Kinds of instruction as reported: units whose instructions they are, meaning. Every instruction is of one kind.
_KINDS: dict[str, tuple[tuple[int, ...], str]] = {
    "valu": ((VALU,), "vector ALU, without matrix products"),
    "matrix": ((MATRIX,), "matrix products"),
    "salu": ((SALU,), "scalar ALU"),
    "vmem": ((VMEM,), "vector memory (FLAT and MUBUF)"),
    "lds": ((LDS,), "LDS (DS)"),
    "smem": ((SMEM,), "scalar memory"),
    "branch": ((BRANCH,), "branch"),
    "other": ((INTERNAL,), "other (s_waitcnt, s_barrier, s_nop, messages, end of program)"),
}
INSTRUCTION_KINDS: tuple[str, ...] = tuple(_KINDS)

# Why a resident wavefront did not issue in a cycle, in the order of ISSUED ... IDLE (gpusim/model/core/cu/state.py);
# exclusive, together they tile its whole residence.
_STALLS = {
    "issued": "it issued an instruction",
    "not_selected": "it could have issued, another wavefront was chosen",
    "execution_dependency": "its pipeline was busy or a result was not ready",
    "matrix_unit": "its matrix product found the matrix unit busy",
    "memory_dependency": "it waited at s_waitcnt for memory or LDS",
    "memory_throttle": "its memory instruction found a queue full",
    "synchronization": "it waited at a barrier",
    "instruction_fetch": "its next instruction was not there yet",
    "branch_latency": "its branch was taken and it had not gone to the target yet",
    "idle": "none of the others, ended but not yet released included",
}
STALL_REASONS: tuple[str, ...] = tuple(_STALLS)

FLOP_COUNTERS = tuple(
    Counter(
        f"{precision}_flops",
        "operations",
        f"floating-point operations of {bits} bits that active lanes executed: additions and multiplications, fused "
        "ones as two; no comparisons, conversions, reciprocals, transcendental functions, atomics",
    )
    for bits, precision in PRECISIONS.items()
)

MATRIX_FLOPS = Counter(
    "matrix_flops",
    "operations",
    "floating-point operations of matrix products: a multiplication and an addition for each product of two elements",
)

RUN_COUNTERS = CounterTable(
    "kernel",
    (
        Counter("workgroups", "workgroups", "workgroups that ended", field="done"),
        Counter("wavefronts_ended", "wavefronts", "wavefronts that ended", field="waves_done"),
        Counter(
            "wavefront_instructions",
            "instructions",
            "instructions issued, one for a whole wavefront",
            field="instructions",
        ),
        *FLOP_COUNTERS,
        MATRIX_FLOPS,
    ),
    state="run",
)

INSTRUCTION_COUNTERS = CounterTable(
    "kernel",
    tuple(
        Counter(f"{kind}_instructions", "instructions", f"those that are {text}", field="issued", elements=units)
        for kind, (units, text) in _KINDS.items()
    ),
    state="cu",
)

CU_COUNTERS = CounterTable(
    "cu",
    (
        Counter("issue_cycles", "cycles", "cycles in which a CU issued at least one instruction, summed over CUs"),
        Counter("active_cycles", "cycles", "cycles in which a CU had a resident workgroup, summed over CUs"),
        Counter(
            "resident_cycles",
            "wavefront-cycles",
            "cycles from dispatch to end, summed over the wavefronts that ended; in a whole run the sum of all stalls",
        ),
        Counter("valu_busy_cycles", "cycles", "cycles vector ALUs were occupied, summed over SIMDs", field="valu_busy"),
        Counter(
            "matrix_busy_cycles",
            "cycles",
            "cycles matrix units were occupied, summed over SIMDs",
            field="matrix_busy",
        ),
        Counter("lds_busy_cycles", "cycles", "LDS bank cycles, summed over CUs", field="lds_busy"),
    ),
    state="cu",
)

LDS_COUNTERS = CounterTable(
    "lds",
    (
        Counter("bytes_asked_for", "bytes", "bytes that active lanes read, write or change in the LDS"),
        Counter("span_cycles", "cycles", "from the first bank cycle of any LDS to the last one, both included"),
    ),
    state="cu.lds",
)

STALL_COUNTERS = CounterTable(
    "stalls",
    tuple(
        Counter(
            reason,
            "wavefront-cycles",
            f"cycles of resident wavefronts in which {text}",
            field="stalls",
            per="cus",
            elements=(number,),
        )
        for number, (reason, text) in enumerate(_STALLS.items())
    ),
    state="cu",
)

# the same counts, CU by CU
STALLS_BY_CU = CounterTable(
    "stalls_by_compute_unit",
    tuple(
        Counter(
            reason,
            "wavefront-cycles",
            f"stalls.{reason} of each compute unit, in order of their numbers",
            EACH,
            field="stalls",
            per="cus",
            elements=(number,),
        )
        for number, reason in enumerate(STALL_REASONS)
    ),
    state="cu",
)
