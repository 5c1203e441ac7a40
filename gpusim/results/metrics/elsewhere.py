"""What other profilers call what is reported here: nvprof's names under `profile`, and those of AMD's rocprof."""

from gpusim.base.table import Table, columns

# part of the machine: here and on AMD's parts, at NVIDIA
PARTS = (
    ("compute unit (CU)", "streaming multiprocessor, `sm_`"),
    ("wavefront, 64 work-items", "warp, 32 threads"),
    ("LDS", "shared memory, `shared_`"),
    ("vector L1 (TCP, with TA and TD)", "unified texture cache and L1, `tex_`"),
    ("L2 (TCC)", "`l2_`"),
    ("scalar cache, instruction cache (SQC)", "constant cache, instruction cache"),
    ("vector ALU (VALU)", "arithmetic and function units, `alu_fu_`"),
)

# rocprof's derived metric for GCN3 → what comes nearest to it here, and what differs
ROCPROF = (
    ("Wavefronts", "kernel.wavefronts", ""),
    ("VALUBusy", "profile.alu_fu_utilization", ""),
    ("VALUInsts", "kernel.valu_instructions", "there a work-item's mean"),
    ("SALUInsts", "kernel.salu_instructions", "there a work-item's mean"),
    ("LDSInsts", "kernel.lds_instructions", "there a work-item's mean"),
    ("SFetchInsts", "kernel.smem_instructions", "there a work-item's mean"),
    ("VFetchInsts", "kernel.vmem_instructions", "there loads alone, a work-item's mean"),
    ("VWriteInsts", "kernel.vmem_instructions", "there stores alone, a work-item's mean"),
    ("MemUnitBusy", "profile.tex_utilization", ""),
    ("MemUnitStalled", "l1.full_stall_cycles", "here cycles, summed over compute units"),
    ("L2CacheHit", "l2.hit_rate", ""),
    ("FetchSize", "dram.bytes_read", "there KiB"),
    ("WriteSize", "dram.bytes_written", "there KiB"),
    ("GPUBusy", "profile.sm_efficiency", "here of compute units, there of the whole GPU"),
)


def names_elsewhere() -> str:
    """Return the page's section on the names that other profilers use."""
    derived = [(f"`{name}`", f"`{path}`", difference) for name, path, difference in ROCPROF]
    return (
        "## Names elsewhere\n\n`profile` has nvprof's names (CUDA profiler user's guide) for this machine:\n\n"
        + Table(columns("here", "NVIDIA, and nvprof's prefix"), PARTS).markdown()
        + "\nWhat rocprof derives on AMD's GCN3 parts (such as the MI6), and what comes nearest to it here:\n\n"
        + Table(columns("rocprof", "here", "difference"), derived).markdown()
    )
