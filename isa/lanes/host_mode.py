"""The host's floating-point mode: rounding and denormals of FP32 as the wavefront's MODE register says.

MODE (GCN3 ISA manual, section 3.4): bits 1:0 FP32 rounding (0 nearest even, 1 up, 2 down, 3 towards zero), bit 4
FP32 denormal inputs kept, bit 5 FP32 denormal results kept. x86-64: MXCSR with FTZ (bit 15), DAZ (bit 6), rounding
in 14:13. AArch64: FPCR with FZ (bit 24) and rounding in 23:22; FZ covers inputs and results together.
"""

import platform
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isa.lanes.llvm_backend import ModuleText

FP32_DENORMALS = 0x30  # MODE[5:4]: results, inputs
_X86 = ("x86_64", "AMD64", "amd64")
_ARM = ("aarch64", "arm64")


class HostMode:
    """Emits reads and writes of the host's mode register as LLVM IR text."""

    def __init__(self, machine: str | None = None) -> None:
        self.machine = machine or platform.machine()
        self.is_x86 = self.machine in _X86
        self.supported = self.is_x86 or self.machine in _ARM
        self.flush_bits = 0x8040 if self.is_x86 else 1 << 24

    def read(self, name: str, module: "ModuleText") -> str:
        """Instructions that define `name` (i32) as the mode register."""
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

    def flushes(self, module: "ModuleText") -> str:
        """Instructions that define `%right` (i1): denormals are flushed, inputs and results.

        Tried out, because reading MXCSR costs more than a 64-lane multiplication: a denormal times one and the
        least normal number times a half are both zero.
        """
        module.declare(
            "@host_probe = private global [4 x float] [float 0x3800000000000000, float 1.0, "
            "float 0x3810000000000000, float 0.5], align 16"
        )
        text = ""
        for i in range(4):
            text += f"  %p{i} = getelementptr float, ptr @host_probe, i64 {i}\n"
            text += f"  %f{i} = load volatile float, ptr %p{i}\n"
        text += "  %input = fmul float %f0, %f1\n  %output = fmul float %f2, %f3\n"
        text += "  %input_bits = bitcast float %input to i32\n  %output_bits = bitcast float %output to i32\n"
        return text + "  %either = or i32 %input_bits, %output_bits\n  %right = icmp eq i32 %either, 0\n"

    def write(self, value: str, label: str, module: "ModuleText") -> str:
        """Instructions that set the mode register to `value` (i32); `label` makes local names unique."""
        if self.is_x86:
            module.declare("declare void @llvm.x86.sse.ldmxcsr(ptr)")
            return (
                f"  %{label} = alloca i32\n  store i32 {value}, ptr %{label}\n"
                f"  call void @llvm.x86.sse.ldmxcsr(ptr %{label})\n"
            )
        long = f"  %{label} = zext i32 {value} to i64\n"
        return long + f'  call void asm sideeffect "msr fpcr, $0", "r,~{{memory}}"(i64 %{label})\n'

    def add_functions(self, module: "ModuleText") -> None:
        """`set_host_float_mode(MODE) -> previous host mode` and `restore_host_float_mode(host mode)`."""
        parameters = "i64 %d, i64 %a, i64 %b, i64 %c, i64 %exec, i64 %mask"
        if not self.supported:
            for name in ("set_host_float_mode", "restore_host_float_mode"):
                module.functions.append(f"define i64 @{name}({parameters}) #0 {{\n  ret i64 0\n}}\n")
            return
        text = "  %w = trunc i64 %d to i32\n  %round = and i32 %w, 3\n"
        # nearest, up, down, zero is 0 1 2 3 in MODE and FPCR; x86 exchanges up and down
        if self.is_x86:
            text += "  %low = and i32 %round, 1\n  %twice = shl i32 %low, 1\n  %high = lshr i32 %round, 1\n"
            text += "  %rc = or i32 %twice, %high\n  %rcs = shl i32 %rc, 13\n  %n = xor i32 %w, -1\n"
            text += "  %n4 = and i32 %n, 16\n  %daz = shl i32 %n4, 2\n  %n5 = and i32 %n, 32\n"
            text += "  %ftz = shl i32 %n5, 10\n  %x1 = or i32 %rcs, %daz\n  %x2 = or i32 %x1, %ftz\n"
            text += "  %new = or i32 %x2, 8064\n"  # all exceptions masked
        else:
            text += "  %rcs = shl i32 %round, 22\n  %kept = and i32 %w, 48\n  %keep = icmp eq i32 %kept, 48\n"
            text += "  %fz = select i1 %keep, i32 0, i32 16777216\n  %new = or i32 %rcs, %fz\n"
        body = self.read("%old", module) + text + self.write("%new", "setting", module)
        body += "  %r = zext i32 %old to i64\n  ret i64 %r\n"
        module.functions.append(f"define i64 @set_host_float_mode({parameters}) #0 {{\n{body}}}\n")
        body = "  %w = trunc i64 %d to i32\n" + self.write("%w", "setting", module) + "  ret i64 0\n"
        module.functions.append(f"define i64 @restore_host_float_mode({parameters}) #0 {{\n{body}}}\n")
