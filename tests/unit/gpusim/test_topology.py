"""Is the machine's graph connected as the configuration says, and as wide as arithmetic says?"""

import networkx as nx
import pytest

from gpusim.base.errors import UserError
from gpusim.config.gpu import load_gpu
from gpusim.results.report import topology
from spartan.engine_spec import EngineSpec


@pytest.mark.parametrize("name", ["mi6", "r9nano"])
@pytest.mark.parametrize("engine", [None, EngineSpec()])
def test_every_cu_reaches_every_dram_channel(name: str, engine: EngineSpec | None) -> None:
    gpu = load_gpu(name)
    graph = topology.build(gpu, engine)
    topology.check_reach(graph)
    assert len(topology.list_units(graph, "cu")) == gpu.cus
    assert len(topology.list_units(graph, "dram")) == gpu.dram.channels
    assert len(topology.list_units(graph, "engine")) == (engine is not None)
    assert nx.is_directed_acyclic_graph(graph)


def test_a_cut_is_told() -> None:
    graph = topology.build(load_gpu("mi6"))
    graph.remove_node("l1.7")
    with pytest.raises(UserError, match="cu7 does not reach dram0"):
        topology.check_reach(graph)


def test_bandwidth_is_the_narrowest_level() -> None:
    wide = topology.build(load_gpu("mi6"))
    pins = 224e9 / 1.237e9
    assert topology.bandwidth_bytes_per_cycle(wide) == pytest.approx(pins)
    narrow = topology.build(load_gpu("mi6", ["shader_arrays=1", "cus_per_array=1"]))  # vector and scalar cache
    assert topology.bandwidth_bytes_per_cycle(narrow) == pytest.approx(128)
