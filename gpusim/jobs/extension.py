"""The simulator's own kinds of jobs, registered as an extension's are (`gpusim.base.extensions`)."""

from gpusim.base.extensions import JobKind

KINDS = {
    "layer": JobKind(factory="gpusim.jobs.gemm.layer_job"),
    "gemm": JobKind(factory="gpusim.jobs.gemm.gemm_job"),
    "convolution": JobKind(factory="gpusim.jobs.convolution.ConvolutionJob"),
    "exec": JobKind(factory="gpusim.jobs.exec.ExecJob"),
    "net": JobKind(factory="gpusim.jobs.networks.job.NetworkJob"),
    "hip": JobKind(factory="gpusim.jobs.hip.job.HipJob"),
}
