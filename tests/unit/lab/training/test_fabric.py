"""Do transfers share links as they should, and do sums over GPUs take what their closed forms say?"""

from math import ceil, log2

import networkx
import pytest
import simpy
from hypothesis import strategies as st

from gpusim.lab.training.collectives import all_reduce
from gpusim.lab.training.fabric import HOST, Fabric, Transfer, fair_rates, gpu_name, link, transfer_us
from tests.support.daily import given_daily

MB = 1e6


def fabric(*links: tuple[str, str, float, float]) -> Fabric:
    graph = networkx.DiGraph()
    for one in links:
        link(graph, *one)
    return Fabric(simpy.Environment(), graph)


def ended_us(on: Fabric, *transfers: Transfer) -> float:
    on._environment.run(on.transfer(transfers))
    return float(on._environment.now)


@given_daily(30, 100, st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=8), st.data())
def test_every_flow_has_a_full_link_on_which_none_is_faster(paths: list[set[int]], data: st.DataObject) -> None:
    """What max-min fair means (Bertsekas and Gallager, section 6.5.2), whatever finds the rates."""
    capacity = data.draw(st.lists(st.sampled_from([1.0, 2.0, 5.0, 7.5]), min_size=5, max_size=5))
    rates = fair_rates([sorted(path) for path in paths], capacity)
    on = {n: [rate for rate, path in zip(rates, paths, strict=True) if n in path] for n in range(5)}
    assert all(sum(on[n]) <= capacity[n] * (1 + 1e-12) for n in on)
    for rate, path in zip(rates, paths, strict=True):
        assert any(sum(on[n]) >= capacity[n] * (1 - 1e-12) and rate >= max(on[n]) * (1 - 1e-12) for n in path)


def test_a_transfer_alone_takes_its_latencies_and_its_slowest_link() -> None:
    on = fabric(("a", "s", 10.0, 2.0), ("s", "b", 4.0, 3.0))
    assert ended_us(on, Transfer("a", "b", 8 * MB)) == pytest.approx(5 + 8e6 / 4e3)
    assert transfer_us(on._graph, Transfer("b", "a", 8 * MB)) == pytest.approx(5 + 8e6 / 4e3)


def test_one_that_comes_later_slows_the_first_only_from_then_on() -> None:
    on = fabric(("a", "b", 1.0, 0.0))
    env = on._environment
    first = on.transfer([Transfer("a", "b", 4e3)])  # 4 us alone
    env.run(1.0)
    second = on.transfer([Transfer("a", "b", 1e3)])  # shares from 1 us on: both at half the rate, until 3 us
    env.run(second)
    assert env.now == pytest.approx(3.0)
    env.run(first)
    assert env.now == pytest.approx(5.0)
    assert on.carried_bytes[None] == [5e3, 0.0]


def test_a_pcie_tree_is_shared_where_ways_meet() -> None:
    """Four GPUs below two switches: copies from the host share one link, transfers below a switch share none."""
    below = [(f"s{n // 2}", gpu_name(n), 8.0, 0.0) for n in range(4)]
    tree = [("s0", HOST, 8.0, 0.0), ("s1", HOST, 8.0, 0.0)]
    alone_us = 8 * MB / 8e3
    copies = [Transfer(HOST, gpu_name(n), 8 * MB) for n in range(4)]
    assert ended_us(fabric(*below, *tree), *copies) == pytest.approx(2 * alone_us)  # two to a switch
    inside = [Transfer(gpu_name(0), gpu_name(1), 8 * MB), Transfer(gpu_name(2), gpu_name(3), 8 * MB)]
    assert ended_us(fabric(*below, *tree), *inside) == pytest.approx(alone_us)
    across = [Transfer(gpu_name(n), gpu_name(n + 2), 8 * MB) for n in (0, 1)]
    assert ended_us(fabric(*below, *tree), *across) == pytest.approx(2 * alone_us)


def test_gpus_reach_each_other_through_the_host_only_where_there_is_no_other_way() -> None:
    on = fabric(("gpu0", HOST, 1.0, 0.0), ("gpu1", HOST, 1.0, 0.0), ("gpu0", "s", 1.0, 9.0), ("s", "gpu1", 1.0, 9.0))
    assert on.path("gpu0", "gpu1").latency_us == 18
    assert fabric(("gpu0", HOST, 1.0, 2.0), ("gpu1", HOST, 1.0, 2.0)).path("gpu0", "gpu1").latency_us == 4


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 16])
@pytest.mark.parametrize("algorithm", ["ring", "tree"])
def test_a_sum_takes_what_its_closed_form_says(algorithm: str, count: int) -> None:
    gb_s, latency_us, size = 12.5, 3.0, 100 * MB
    names = [gpu_name(n) for n in range(count)]
    star = fabric(*(("switch", name, gb_s, latency_us / 2) for name in names))  # any two are one latency apart
    env = star._environment
    env.run(env.process(all_reduce(star, names, size, algorithm)))
    if algorithm == "ring":
        expected = 2 * (count - 1) / count * size / (gb_s * 1e3) + 2 * (count - 1) * latency_us
    else:
        expected = 2 * ceil(log2(count)) * (size / (gb_s * 1e3) + latency_us)
    assert env.now == pytest.approx(expected)
