"""Jobs that are one convolution as a whole: from maps to maps by one of the algorithms, with all that it launches."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gpusim.config.run import RunConfig
from gpusim.config.workload import ENGINE_WAYS, ConvolutionWorkload
from gpusim.jobs.gemm import map_operands
from gpusim.jobs.networks.sparse import check_operators
from gpusim.jobs.running.job import Job, JobOptions, Task, Variant, launch_options
from gpusim.jobs.running.operators import OperatorTask, gpu_facts
from isa.device_memory import DeviceMemory
from workloads.operators.conv_algorithms import ALGORITHMS, algorithm
from workloads.operators.convolution import Convolution
from workloads.operators.primitive import build
from workloads.shapes import gemm_shape


class ConvolutionJob(Job):
    """A convolution's forward pass by the configured algorithms (gpusim.jobs.running.job.Job)."""

    kind = "run"

    def __init__(self, config: RunConfig) -> None:
        assert isinstance(config.workload, ConvolutionWorkload)
        self._config, self._workload, self.title = config, config.workload, config.workload.title
        self.gpu, self.engine_spec, self.energy_spec = config.gpu, config.engine, config.energy
        self.options = JobOptions(verify=config.run.verify, draws=config.run.draws, launches=launch_options(config.run))

    @property
    def variants(self) -> Sequence[Variant]:
        """Return the dense algorithm, the sparse one, or both for a comparison."""
        ways = ENGINE_WAYS[self._config.run.engine]
        return [self._variant(getattr(self._config.kernels, way), way if len(ways) > 1 else "") for way in ways]

    def _variant(self, name: str, key: str) -> Variant:
        return Variant(name, ALGORITHMS[name].uses_engine, partial(self._prepare, name), key)

    def _prepare(self, name: str) -> Task:
        layer, batch = self._workload.layer.shape, self._workload.batch
        maps = map_operands(self._workload)
        held = (layer.input_channels, layer.input_height, layer.input_width)
        x = np.stack(list(maps.maps())).astype(np.float32)
        sides = (layer.padding,) * 4
        kernel, stride = (layer.filter_size,) * 2, (layer.stride,) * 2
        convolution = Convolution((batch, *held), layer.output_channels, kernel, stride, sides)
        made = algorithm(name, convolution)
        memory = DeviceMemory(self.gpu.memory_mib << 20, architecture=self.gpu.architecture)
        operator = build(made.forward(convolution), memory, gpu_facts(self.gpu), {"x": x}, self._workload.seed)
        check_operators([operator], self.engine_spec if made.uses_engine else None, self.title)
        return OperatorTask(operator, {"zero_fraction": maps.zeros(gemm_shape(layer, batch))})

    def resolved(self) -> dict[str, Any]:
        """Return the configuration, every value, as plain data."""
        return self._config.resolved()
