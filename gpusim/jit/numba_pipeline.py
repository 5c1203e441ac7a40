"""The passes of Numba's compiler that the core's functions go through: those that do something for them.

The core has no closures, comprehensions, `with`, `raise`, `literal_unroll`, overloads to inline or arrays to fuse, and
the optimizer finds its dead branches. The passes left out look for these in every function, and each analyses the
function anew: a fifth of a compilation's front end. What needs one of them fails to compile (`gpusim.jit.numba_hooks`:
`GPUSIM_PLAIN_NUMBA=1` compiles with all of them).
"""

from numba.core import typed_passes, untyped_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager

_LEFT_OUT = (
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.AnnotateTypes,
)


class CorePipeline(CompilerBase):
    """Numba's pipeline without the passes that find nothing in the core."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the only pipeline: Numba's nopython passes without those in `_LEFT_OUT`."""
        whole = DefaultPassBuilder.define_nopython_pipeline(self.state)
        core = PassManager("core")
        core.passes.extend(step for step in whole.passes if step[0] not in _LEFT_OUT)
        core.finalize()
        return [core]
