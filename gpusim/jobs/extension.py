"""The simulator's own kinds of jobs, registered as an extension's are (`gpusim.base.extensions`)."""

from gpusim.base.extensions import JobKind

KINDS = {
    "layer": JobKind(factory="gpusim.jobs.gemm.layer_job", result_kind="run", own_kernels=True),
    "gemm": JobKind(factory="gpusim.jobs.gemm.gemm_job", result_kind="run", own_kernels=True),
    "convolution": JobKind(factory="gpusim.jobs.convolution.ConvolutionJob", result_kind="run", own_kernels=True),
    "exec": JobKind(factory="gpusim.jobs.exec.ExecJob"),
    "net": JobKind(
        own_kernels=True,
        factory="gpusim.jobs.networks.job.NetworkJob",
        views="gpusim.jobs.networks.result_views.NetworkViews",
        timelines=("launches",),
        no_cycles="a network's launches are simulated in several processes, and equal ones once: its timeline is of"
        " launches; gpusim run draws a layer's cycles",
    ),
    "hip": JobKind(
        factory="gpusim.jobs.hip.job.HipJob",
        views="gpusim.jobs.hip.views.ProgramViews",
        timelines=("launches", "cycles"),
    ),
}
