"""Launches of few rounds of long workgroups: products with few tiles and a long sum, as gradients of weights are."""

from gpusim.config.run import load_run
from gpusim.jobs.gemm import GemmJob, gemm_problem
from gpusim.lab.checks.sampling.case import SamplingCase, SamplingLaunch

FEW = "few rounds"  # the kind of all these cases
_DENSE = "sgemm"  # the fastest dense kernel of large products

# layer, filters, taps, positions that are summed over: gradients of weights, and fully connected layers
_PRODUCTS = (
    ("vgg16 conv3_1 weights", 256, 1152, 9408),
    ("vgg16 conv5_3 weights", 512, 1152, 4704),
    ("resnet18 conv2 weights", 64, 576, 50_176),
    ("resnet18 conv5 weights", 512, 2304, 2352),
    ("vgg16 fc7", 4096, 128, 4096),
)


def few_cases(gpu: str) -> list[SamplingCase]:
    """Return the cases for a GPU."""
    return [
        SamplingCase(f"{gpu} {name}", FEW, f"{m} x {n} x {k}", lambda m=m, n=n, k=k: product(gpu, m, n, k))  # type: ignore[misc]
        for name, m, n, k in _PRODUCTS
    ]


def product(gpu: str, m: int, n: int, k: int) -> SamplingLaunch:
    """Prepare a dense matrix product."""
    config = load_run(
        {
            "gpu": gpu,
            "workload": {"kind": "gemm", "name": "check", "m": m, "n": n, "k": k, "sparsity": 0.0, "seed": 1},
            "run": {"engine": "off"},
        }
    )
    job = GemmJob(config, gemm_problem(config.workload))  # type: ignore[arg-type]
    return SamplingLaunch(job.operator(_DENSE).launches[0], job.gpu)
