"""The live view of real runs: results are the same with it, readers come and go, it ends with the run."""

import json
import os
import signal
import socket
import time
import urllib.request
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from gpusim.cli.main import invoke
from gpusim.results.store.reading import StoreReader
from tests.support.live import Client, running
from tests.support.small_networks import INPUT, SHORT

pytestmark = pytest.mark.compiled_tier
SMALL = ["--set", "workload.batch=16", "--set", "gpu.shader_arrays=1"]
UNLIMITED = ["run", "layerB.yaml", "--no-verify", *SMALL]
LONG = [*UNLIMITED, "--max-cycles", "80000"]


def simulated(path: Path) -> dict[str, Any]:
    """A result without what simulating took."""

    def without(tree: Any) -> Any:
        if isinstance(tree, dict):
            left_out = ("simulator", "setup_s", "verify_s", "peak_memory_mb")
            return {key: without(value) for key, value in tree.items() if key not in left_out}
        return [without(value) for value in tree] if isinstance(tree, list) else tree

    found: dict[str, Any] = without(json.loads(path.read_text()))
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result without a live view."""
    path = tmp_path_factory.mktemp("alone") / "result.json"
    assert invoke([*LONG, "--quiet", "--json", str(path)]) == 1
    return simulated(path)


def test_readers_follow_a_run_to_its_end_and_its_result_is_the_same(tmp_path: Path, alone: dict[str, Any]) -> None:
    path = tmp_path / "result.json"
    heard: list[list[dict[str, Any]]] = [[], [], []]

    def follow(place: int, port: int) -> None:
        heard[place].extend(Client(port).states())

    with running([*LONG, "--live", "--json", str(path)]) as (process, port):
        threads = [Thread(target=follow, args=(place, port)) for place in range(3)]
        for thread in threads:
            thread.start()
        Client(port).state()  # goes at once
        for thread in threads:
            thread.join()
        assert process.wait() == 1
    assert simulated(path) == alone
    for states in heard:
        launch = states[-1]["launch"]
        assert states[-1]["outcome"] == "ended"
        assert "cycle limit: the results are partial" in states[-1]["messages"]
        assert states[-1]["launches"][0]["cycle"] == 80_000, "the last state is that of the end"
        cycles = launch["history"]["cycle"]
        assert cycles == sorted(set(cycles)) and cycles[-1] == 80_000
        assert launch["counts"]["l2.hits"] == alone["l2"]["hits"] > 0
        assert launch["counts"]["kernel.wavefront_instructions"] == alone["kernel"]["wavefront_instructions"]


def test_a_server_that_is_killed_takes_nothing_with_it(tmp_path: Path, alone: dict[str, Any]) -> None:
    path = tmp_path / "result.json"
    with running([*LONG, "--live", "--json", str(path)]) as (process, port):
        Client(port).state()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait() == 1
    assert "live view: its server was ended; the run went on without it" in said
    assert simulated(path) == alone


@pytest.mark.parametrize(
    ("number", "outcome"),
    [(signal.SIGKILL, "was killed"), pytest.param(signal.SIGINT, "ended", marks=pytest.mark.nightly)],
    ids=["killed", "interrupted"],
)
def test_readers_hear_that_the_run_was_stopped(number: signal.Signals, outcome: str) -> None:
    with running([*UNLIMITED, "--live"]) as (process, port):
        stopped, last = False, {}
        for last in Client(port).states():
            if not stopped and last["launch"] is not None and last["launch"]["queues"]:
                os.kill(process.pid, number)
                stopped = True
    assert last["outcome"] == outcome
    assert last["launch"]["queues"], "the last state stays"
    assert ("interrupted: the results are partial" in last["messages"]) == (number == signal.SIGINT)
    refused, end = False, time.monotonic() + 60
    while not refused:  # a killed run's server ends on its own
        assert time.monotonic() < end, "the server has to end"
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            refused = True


def test_the_points_of_a_sweep_are_followed_in_their_processes(tmp_path: Path) -> None:
    sets = ["--set", "gpu.l1.fill_latency_cycles=60,61", "--set", "workload.batch=2", "--set", "gpu.shader_arrays=1"]
    command = ["sweep", "layerB", *sets, "--jobs", "2", "--store", str(tmp_path / "s.db"), "--live"]
    works: set[str] = set()
    with running(command) as (process, port):
        last: dict[str, Any] = {}
        for last in Client(port).states():
            works |= {launch["work"] for launch in last["launches"]}
        assert process.wait() == 0
    assert works == {"point 0", "point 1"}
    assert [(part["work"], part["done"], part["total"]) for part in last["overall"]] == [("", 2, 2)]
    with StoreReader(tmp_path / "s.db") as results:
        assert [row["state"] for row in results.sweep(1, "kernel.cycles")] == ["done", "done"]


def test_the_steps_of_a_network_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "short.yaml"
    path.write_text(yaml.safe_dump({"input": INPUT, "layers": SHORT}))
    with running(["net", str(path), "--live", "--jobs", "2", "--no-verify"]) as (process, port):
        states = list(Client(port).states())
        assert process.wait() == 0
    (part,) = states[-1]["overall"]
    assert (part["done"], part["total"], part["unit"]) == (len(SHORT), len(SHORT), "steps")
    assert not any(launch["running"] for launch in states[-1]["launches"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--live=x"], "--live x: a port is needed, 1 to 65535, or 0 or nothing for any free one"),
        (["--live", "65536"], "--live 65536: a port is needed"),
        (["--live", "--quiet"], "--live: with --quiet a port has to be named, since the address is not printed"),
        (["--live", "0", "--quiet"], "--live: with --quiet a port has to be named"),
    ],
)
def test_a_port_that_cannot_be_is_one_clear_line(arguments: list[str], said: str, capfd: Any) -> None:
    assert invoke(["exec", "vector_add", *arguments]) == 2
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith(f"gpusim: error: {said}")


def test_a_port_that_is_taken_is_one_clear_line(capfd: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert invoke(["exec", "vector_add", "--live", str(port)]) == 2
    assert capfd.readouterr().err == (
        f"gpusim: error: --live {port}: another program has this port; without a number any free one is taken\n"
    )


def test_a_short_run_and_one_that_fails_end_their_view(capfd: Any) -> None:
    assert invoke(["exec", "--live", "vector_add"]) == 0
    url = capfd.readouterr().err.split("live view: ")[1].split()[0]
    with pytest.raises(OSError):
        urllib.request.urlopen(url)
    assert invoke(["exec", "vector_add", "--live", "--set", "arguments.a.file=none.npy"]) == 2
