"""The host's floating-point mode: rounding and denormals as the wavefront's MODE register says.

MODE (GCN3 ISA manual, section 3.4): bits 1:0 FP32 rounding (0 nearest even, 1 up, 2 down, 3 towards zero), 3:2 the
same of FP16 and FP64; bit 4 FP32 denormal inputs kept, bit 5 FP32 denormal results kept, 7:6 the same of FP16 and
FP64. x86-64: MXCSR with FTZ (bit 15), DAZ (bit 6), rounding in 14:13. AArch64: FPCR with FZ (bit 24) and rounding in
23:22; FZ covers inputs and results together.

`fields` below is a number laid out as MODE's FP32 part: bits 1:0 and 5:4.
"""

import platform
from typing import TYPE_CHECKING

from isa.lanes.table import DOUBLE, FLUSH_DENORMALS, FLUSH_NEAREST, HALF, HALF_NEAREST, KEEP_DENORMALS, NARROWING

if TYPE_CHECKING:
    from isa.lanes.llvm_module import ModuleText

FP32_ROUND, FP32_INPUTS, FP32_RESULTS = 0x3, 0x10, 0x20
FP32_DENORMALS = FP32_INPUTS | FP32_RESULTS
FP32_FIELDS = FP32_ROUND | FP32_DENORMALS
FP64_SHIFT = 2  # from the FP16 and FP64 fields of MODE to those of FP32
HALF_INPUTS, HALF_RESULTS = FP32_INPUTS << FP64_SHIFT, FP32_RESULTS << FP64_SHIFT
HALF_DENORMALS = HALF_INPUTS | HALF_RESULTS
_X86 = ("x86_64", "AMD64", "amd64")
_ARM = ("aarch64", "arm64")


def wanted_fields(host_mode: str, mode: int) -> int:
    """Return the fields that an operation of a class (`isa.lanes.table`) runs under, where MODE is `mode`."""
    own, wide = mode & FP32_FIELDS, mode >> FP64_SHIFT & FP32_FIELDS
    return {
        DOUBLE: wide,
        HALF: wide & FP32_ROUND | own & FP32_DENORMALS,
        HALF_NEAREST: 0,
        NARROWING: own & ~FP32_INPUTS | wide & FP32_INPUTS,
        KEEP_DENORMALS: FP32_DENORMALS,
        FLUSH_DENORMALS: own & FP32_ROUND,
        FLUSH_NEAREST: 0,
    }.get(host_mode, own)


def runs_directly(host_mode: str, mode: int) -> bool:
    """Tell whether an operation of a class needs no change of the host's mode and no FP16 flushing."""
    own = mode & FP32_FIELDS
    if host_mode in (HALF, HALF_NEAREST):
        same_round = (wanted_fields(host_mode, mode) ^ own) & FP32_ROUND == 0
        return same_round and mode & HALF_DENORMALS == HALF_DENORMALS
    if host_mode == NARROWING and not mode & FP32_ROUND:
        return True  # an FP64 denormal rounds to zero like a flushed one
    return wanted_fields(host_mode, mode) == own


class HostMode:
    """Emits tests of MODE and writes of the host's mode register as LLVM IR text."""

    def __init__(self, machine: str | None = None) -> None:
        self.machine = machine or platform.machine()
        self.is_x86 = self.machine in _X86
        self.supported = self.is_x86 or self.machine in _ARM

    def read(self, name: str, module: "ModuleText") -> str:
        """Return instructions that define `name` (i32) as the mode register."""
        if self.is_x86:
            module.declare("declare void @llvm.x86.sse.stmxcsr(ptr)")
            slot = f"{name}_slot"
            return (
                f"  {slot} = alloca i32\n  call void @llvm.x86.sse.stmxcsr(ptr {slot})\n"
                f"  {name} = load i32, ptr {slot}\n"
            )
        return (
            f'  {name}_long = call i64 asm sideeffect "mrs $0, fpcr", "=r"()\n  {name} = trunc i64 {name}_long to i32\n'
        )

    def write(self, value: str, label: str, module: "ModuleText") -> str:
        """Return instructions that set the mode register to `value` (i32); `label` makes local names unique."""
        if self.is_x86:
            module.declare("declare void @llvm.x86.sse.ldmxcsr(ptr)")
            return (
                f"  %{label} = alloca i32\n  store i32 {value}, ptr %{label}\n"
                f"  call void @llvm.x86.sse.ldmxcsr(ptr %{label})\n"
            )
        long = f"  %{label} = zext i32 {value} to i64\n"
        return long + f'  call void asm sideeffect "msr fpcr, $0", "r,~{{memory}}"(i64 %{label})\n'

    def write_fields(self, fields: str, label: str, module: "ModuleText") -> str:
        """Return instructions that set the mode register from `fields` (i32); all exceptions stay masked."""
        p = f"%{label}_"
        text = f"  {p}round = and i32 {fields}, {FP32_ROUND}\n"
        # nearest, up, down, zero is 0 1 2 3 in MODE and FPCR; x86 exchanges up and down
        if self.is_x86:
            text += f"  {p}low = and i32 {p}round, 1\n  {p}twice = shl i32 {p}low, 1\n"
            text += f"  {p}high = lshr i32 {p}round, 1\n  {p}rc = or i32 {p}twice, {p}high\n"
            text += f"  {p}rcs = shl i32 {p}rc, 13\n  {p}n = xor i32 {fields}, -1\n"
            text += f"  {p}n4 = and i32 {p}n, {FP32_INPUTS}\n  {p}daz = shl i32 {p}n4, 2\n"
            text += f"  {p}n5 = and i32 {p}n, {FP32_RESULTS}\n  {p}ftz = shl i32 {p}n5, 10\n"
            text += f"  {p}x1 = or i32 {p}rcs, {p}daz\n  {p}x2 = or i32 {p}x1, {p}ftz\n"
            text += f"  {p}new = or i32 {p}x2, 8064\n"
        else:
            text += f"  {p}rcs = shl i32 {p}round, 22\n  {p}kept = and i32 {fields}, {FP32_DENORMALS}\n"
            text += f"  {p}keep = icmp eq i32 {p}kept, {FP32_DENORMALS}\n"
            text += f"  {p}fz = select i1 {p}keep, i32 0, i32 16777216\n  {p}new = or i32 {p}rcs, {p}fz\n"
        return text + self.write(f"{p}new", label, module)

    def choose_fields(self, host_mode: str) -> str:
        """Return instructions that define `%fields` from `%mode` (i32), as `wanted_fields` does."""
        if host_mode in (HALF_NEAREST, FLUSH_NEAREST, KEEP_DENORMALS):
            return f"  %fields = or i32 0, {wanted_fields(host_mode, 0)}\n"
        if host_mode == FLUSH_DENORMALS:
            return f"  %fields = and i32 %mode, {FP32_ROUND}\n"
        shifted = f"  %wide = lshr i32 %mode, {FP64_SHIFT}\n"
        if host_mode == DOUBLE:
            return shifted + f"  %fields = and i32 %wide, {FP32_FIELDS}\n"
        from_wide = FP32_ROUND if host_mode == HALF else FP32_INPUTS
        return (
            shifted
            + f"  %of_wide = and i32 %wide, {from_wide}\n  %of_own = and i32 %mode, {FP32_FIELDS & ~from_wide}\n"
            "  %fields = or i32 %of_wide, %of_own\n"
        )

    def directly(self, host_mode: str) -> str:
        """Return instructions that define `%right` (i1) from `%mode` (i32), as `runs_directly` does."""
        if host_mode in (FLUSH_NEAREST, KEEP_DENORMALS):
            own = f"  %own = and i32 %mode, {FP32_FIELDS}\n"
            return own + f"  %right = icmp eq i32 %own, {wanted_fields(host_mode, 0)}\n"
        if host_mode == FLUSH_DENORMALS:
            return f"  %own = and i32 %mode, {FP32_DENORMALS}\n  %right = icmp eq i32 %own, 0\n"
        if host_mode == HALF_NEAREST:
            own = f"  %own = and i32 %mode, {HALF_DENORMALS | FP32_ROUND}\n"
            return own + f"  %right = icmp eq i32 %own, {HALF_DENORMALS}\n"
        text = f"  %down = lshr i32 %mode, {FP64_SHIFT}\n  %unlike = xor i32 %down, %mode\n"
        if host_mode == DOUBLE:
            return text + f"  %bits = and i32 %unlike, {FP32_FIELDS}\n  %right = icmp eq i32 %bits, 0\n"
        if host_mode == NARROWING:
            text += f"  %bits = and i32 %unlike, {FP32_INPUTS}\n  %same_inputs = icmp eq i32 %bits, 0\n"
            text += f"  %round = and i32 %mode, {FP32_ROUND}\n  %nearest = icmp eq i32 %round, 0\n"
            return text + "  %right = or i1 %same_inputs, %nearest\n"
        text += f"  %bits = and i32 %unlike, {FP32_ROUND}\n  %kept = and i32 %mode, {HALF_DENORMALS}\n"
        text += f"  %lost = xor i32 %kept, {HALF_DENORMALS}\n  %any = or i32 %lost, %bits\n"
        return text + "  %right = icmp eq i32 %any, 0\n"

    def add_functions(self, module: "ModuleText") -> None:
        """Add `set_host_float_mode(MODE) -> previous host mode` and `restore_host_float_mode(host mode)`."""
        parameters = "i64 %d, i64 %a, i64 %b, i64 %c, i64 %exec, i64 %mask"
        body = self.read("%old", module) + "  %w = trunc i64 %d to i32\n" + self.write_fields("%w", "setting", module)
        body += "  %r = zext i32 %old to i64\n  ret i64 %r\n"
        module.functions.append(f"define i64 @set_host_float_mode({parameters}) #0 {{\n{body}}}\n")
        body = "  %w = trunc i64 %d to i32\n" + self.write("%w", "setting", module) + "  ret i64 0\n"
        module.functions.append(f"define i64 @restore_host_float_mode({parameters}) #0 {{\n{body}}}\n")
