"""Specification of the compute units."""

from gpusim.base.spec import Spec, param
from gpusim.model.core.cu.scheduling import SCHEDULES
from isa.opcodes.opcode import EXPORT

SIMDS = 4  # of a GCN compute unit: the issue logic visits one a cycle
MAX_WAVES_PER_SIMD = 10
MATRIX = EXPORT  # the issue category of matrix products: no compute kernel exports


class ComputeUnitSpec(Spec):
    """A GCN or CDNA compute unit: four SIMD16, each with up to ten wavefronts of 64 work-items."""

    waves_per_simd: int = param(
        10, "wavefront slots of a SIMD", "AMD GCN whitepaper (2012)", ge=1, le=MAX_WAVES_PER_SIMD
    )
    vgprs_per_lane: int = param(256, "vector registers of a SIMD's lane", "GCN3 ISA manual, section 3.6", ge=4, le=1024)
    vgpr_granularity: int = param(
        4, "vector registers are allocated in blocks of", "LLVM AMDGPU guide: GFX6-GFX8", ge=1, le=1024
    )
    sgprs_per_simd: int = param(800, "scalar registers of a SIMD", "LLVM AMDGPU back end: GFX8 has 800", ge=16, le=4096)
    sgpr_granularity: int = param(
        16, "scalar registers are allocated in blocks of", "LLVM AMDGPU guide: GFX8", ge=1, le=4096
    )
    lds_kib: int = param(64, "local data share in KiB", "GCN3 ISA manual, section 10", ge=1, le=64)
    lds_granularity_bytes: int = param(
        512, "LDS is allocated in blocks of bytes", "GCN3 ISA manual: 128 dwords", ge=4, le=65536
    )
    barriers: int = param(
        16, "workgroups of more than one wavefront resident at a time", "LLVM AMDGPU back end: 16 on GCN", ge=1, le=40
    )
    schedule: str = param(
        "oldest",
        "which ready wavefront of a SIMD issues: "
        + "; ".join(f"{name}: {schedule.meaning}" for name, schedule in SCHEDULES.items()),
        "GCN arbitrates by age",
        among=SCHEDULES,
    )
    instruction_buffer_bytes: int = param(
        64,
        "instruction buffer of a wavefront, in bytes",
        "AnandTech, RX 480 preview (2016): 16 dwords in GCN4, 12 before",
        ge=32,
        le=128,
        multiple_of=16,
    )
    branch_cycles: int = param(
        16,
        "cycles from a taken branch to the wavefront's next issue",
        "AMD OpenCL optimisation guide (2015), section 2.8: 16 cycles taken, 4 (the next turn) not taken",
        ge=4,
        le=900,
    )
    valu_scalar_cycles: int = param(
        16,
        "cycles from a vector instruction that writes a scalar register to a scalar instruction that reads it;"
        " a slower vector instruction adds its further cycles",
        "CLRX GcnTimings, instruction scheduling: 16 cycles from v_add, v_sub, v_readlane to scalar ALU instructions",
        ge=4,
        le=64,
    )
    branch_condition_cycles: int = param(
        4,
        "cycles beyond its turn that a conditional branch waits for what the instruction before it changed",
        "CLRX GcnTimings, instruction scheduling: a jump on VCCZ, EXECZ or SCC right after an instruction that"
        " changes VCC, EXEC or SCC adds 4 cycles",
        ge=0,
        le=60,
    )
    register_index_cycles: int = param(
        0,
        "cycles beyond its turn that s_set_gpr_idx_on, _idx and _mode hold a wavefront",
        "assumed: as other scalar instructions; none found of GCN3",
        ge=0,
        le=60,
    )
    wait_state_cycles: int = param(
        1,
        "cycles of each wait state that s_nop asks for; the wavefront goes on in its next turn",
        "assumed: GCN3 ISA manual, S_NOP: 0 is one, 0xF sixteen; not said whether turns or cycles",
        ge=1,
        le=4,
    )
    lds_latency_cycles: int = param(
        40,
        "cycles from the last bank access to the data in registers",
        "a dependent ds_read_b32 takes 48 cycles, as on MI100 and MI210 (mt4g); none found of GCN3",
        ge=1,
        le=500,
    )
    lds_backlog_cycles: int = param(
        32,
        "bank cycles queued in front of the LDS from which it takes no more",
        "assumed: four 16-byte reads",
        ge=1,
        le=900,
    )
    lds_write_passes: int = param(
        2,
        "least cycles of an LDS write or atomic for each one of a read whose lanes never meet in a bank",
        "CLRX GcnTimings: ds_write_b32, ds_write_b64 and ds_add_u32 at half the rate of ds_read of their width; that "
        "bank conflicts are not doubled: rocBLAS's 512 x 8 x 500000 (TN) on the R9 Nano, docs/results/correlation.md",
        ge=1,
        le=16,
    )
    launch_cycles: int = param(
        20, "cycles from dispatch of a wavefront to its first issue: register initialisation", "assumed", ge=0, le=900
    )
