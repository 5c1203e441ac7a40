"""Do the shipped networks have the published sizes: layer tables, operation counts, grids and their utilization?"""

from collections import Counter
from math import prod

import pytest

from gpusim.config import files
from gpusim.config.network import NETWORK_FOLDER, load_network
from tests.support.network_tables import (
    ALEXNET,
    ICPE_TABLE_1,
    LAYER_COUNTS,
    PUBLISHED,
    RESIDUAL_UNITS,
    RESNET_18,
    TOTALS,
    VGG_16,
    Row,
)
from tests.support.utilization import (
    CLOCK_HZ,
    CORES,
    TABLE_4,
    TABLE_4_BATCH,
    PublishedKernel,
    compute_efficiency,
    grid_size,
)
from workloads.networks.figures import layer_figures
from workloads.networks.graph import Network
from workloads.networks.memory import plan
from workloads.networks.schedule import inference, training
from workloads.shapes import SPARTAN_LAYERS

FEATURES, PHONES = 40, 61  # of TIMIT
SPEECH = [f"{kind}{nodes}" for kind in ("lstm", "tdnn") for nodes in (256, 512, 1024, 2048)]
# trained values of the whole model as published, its blocks, and what is not in them: tables and the last normalization
BLOCKS = {
    "gpt2-block": (124_439_808, 12, (50_257 + 1024 + 2) * 768),
    "gpt2-block-decode": (124_439_808, 12, (50_257 + 1024 + 2) * 768),
    "bert-block": (109_482_240, 12, (30_522 + 512 + 2 + 2) * 768 + 768 * 769),  # with the pooler
    "llama-block": (1_235_814_400, 16, (128_256 + 1) * 2048),
    "llama-block-decode": (1_235_814_400, 16, (128_256 + 1) * 2048),
    "llama-7b-block": (6_738_415_616, 32, (2 * 32_000 + 1) * 4096),
    "llama-7b-block-decode": (6_738_415_616, 32, (2 * 32_000 + 1) * 4096),
}
TABLES = {"alexnet": ALEXNET, "vgg16": VGG_16, "resnet18": RESNET_18}
ROWS = [(network, row) for network, rows in TABLES.items() for row in rows]


def test_every_shipped_network_has_its_published_size() -> None:
    assert {name.removesuffix(".yaml") for name in files.shipped(NETWORK_FOLDER)} == {
        *(*TOTALS, *PUBLISHED, *SPEECH, *BLOCKS)
    }


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_make_up_the_published_size_of_their_model(name: str) -> None:
    whole, blocks, rest = BLOCKS[name]
    found = layer_figures(plan(inference(load_network(name), 1)))
    assert blocks * sum(one.parameters + one.biases for one in found) + rest == whole


@pytest.mark.parametrize(("name", "row"), ROWS, ids=lambda value: value if isinstance(value, str) else value.layer)
def test_a_layer_is_that_of_the_layer_table(name: str, row: Row) -> None:
    layer = load_network(name)[row.layer]
    assert layer.gemm is not None
    assert (layer.gemm.m, layer.gemm.k, layer.gemm.n) == (row.m, row.k, row.n)
    assert f"{layer.gemm.macs / 1e6:.1f}" == row.mmacs
    assert prod(layer.anatomy.parameters["weight"]) == row.weights
    inputs = layer.input_shapes[0] if layer.kind_name == "convolution" else (prod(layer.input_shapes[0]),)
    assert (inputs, layer.shape) == (row.input, row.output)


@pytest.mark.parametrize("name", TABLES)
def test_a_layer_table_has_all_layers_with_weights(name: str) -> None:
    network = load_network(name)
    assert [layer.name for layer in network.layers if layer.gemm] == [row.layer for row in TABLES[name]]


@pytest.mark.parametrize("name", TOTALS)
def test_totals_are_the_published_ones(name: str) -> None:
    found = layer_figures(plan(inference(load_network(name), 1)))
    weights = sum(prod(layer.anatomy.parameters["weight"]) for layer in load_network(name).layers if layer.gemm)
    assert sum(one.macs for one in found) == TOTALS[name].macs
    assert weights == TOTALS[name].weights
    assert sum(one.parameters + one.biases for one in found) == TOTALS[name].trained


@pytest.mark.parametrize("name", PUBLISHED)
def test_deep_networks_have_their_published_size(name: str) -> None:
    trained, printed = PUBLISHED[name]
    found = layer_figures(plan(inference(load_network(name), 1)))
    assert sum(one.parameters + one.biases for one in found) == trained
    last = 10 ** -len(printed.partition(".")[2])  # the printed figure's last digit; some are cut off, not rounded
    assert abs(sum(one.macs for one in found) / 1e9 - float(printed)) < last


@pytest.mark.parametrize("name", SPEECH)
def test_networks_for_speech_have_the_parameters_of_their_equations(name: str) -> None:
    n = int(name[4:])
    gates = 4 * (n * (FEATURES + n) + n)  # [W U] and b of four gates
    delays = n * 5 * FEATURES + n + 3 * (n * 2 * n + n)  # five taps, then three times two
    found = layer_figures(plan(training(load_network(name), 1)))
    expected = (gates if name.startswith("lstm") else delays) + PHONES * n + PHONES
    assert sum(one.parameters + one.biases for one in found) == expected
    assert found[-1].shape == (PHONES,)


@pytest.mark.parametrize("name", [*LAYER_COUNTS, *RESIDUAL_UNITS])
def test_layers_by_kind_are_those_of_dong_2020_s_tables(name: str) -> None:
    counts = Counter(layer.kind_name for layer in load_network(name).layers)
    if name in RESIDUAL_UNITS:
        units, convolutions, projections = RESIDUAL_UNITS[name]
        expected = {"convolution": 1 + units * convolutions + projections, "add": units}
        expected |= dict.fromkeys(("fully_connected", "max_pool", "softmax"), 1)
    else:
        expected = LAYER_COUNTS[name]
    assert {kind: counts[kind] for kind in expected} == expected


def test_operations_are_those_of_icpe_s_table_1_as_it_rounds_them() -> None:
    found = {layer.name: layer.operations for layer in load_network("alexnet").layers}
    assert list(found) == list(ICPE_TABLE_1)
    for name, (printed, unit, exact) in ICPE_TABLE_1.items():
        assert found[name] == exact, name
        assert abs(exact / unit - printed) < 1, "rounded or cut off to whole units"


def groups_product(network: Network, layer: str) -> tuple[int, int]:
    """M × N of a group for one image."""
    gemm = network[layer].gemm
    assert gemm is not None
    return gemm.m, gemm.n


@pytest.mark.parametrize("row", TABLE_4, ids=lambda row: f"{row.layer}-{row.library}")
def test_results_of_table_4_are_those_of_caffe_s_alexnet(row: PublishedKernel) -> None:
    m, n = groups_product(load_network("alexnet-caffe"), row.layer)
    if row.layer.startswith("fc"):
        assert row.result == (TABLE_4_BATCH, m), "a row an image"
        return
    printed = (94 if row.layer == "conv1" else m, n * (TABLE_4_BATCH if row.library == "cuDNN" else 1))
    assert row.result == printed


# of training-phase.md, by equations 10 and 11 with 20 multiprocessors
UTILIZATION = {
    "cuDNN": [0.995, 0.985, 0.997, 0.997, 0.985, 0.800, 0.800, 0.800],
    "cuBLAS": [0.600, 0.450, 0.750, 0.300, 0.200, 0.800, 0.800, 0.800],
}


@pytest.mark.parametrize("library", UTILIZATION)
def test_utilization_of_table_4_gives_figure_8(library: str) -> None:
    rows = [row for row in TABLE_4 if row.library == library]
    found = [row.utilization for row in rows]
    assert found == pytest.approx(UTILIZATION[library], abs=5e-4)
    convolutions = found[:5]
    if library == "cuDNN":
        assert min(convolutions) >= 0.95
    else:
        assert sum(convolutions) / 5 == pytest.approx(0.47, abs=0.011)
    assert found[5:] == pytest.approx([0.8] * 3)


def test_equation_9_gives_the_printed_grid_of_four_kernels_only() -> None:
    given = {(row.layer, row.library) for row in TABLE_4 if row.equation_9 == row.grid}
    assert given == {
        ("conv2", "cuDNN"), ("conv1", "cuBLAS"),
        ("fc6", "cuDNN"), ("fc6", "cuBLAS"), ("fc7", "cuDNN"), ("fc7", "cuBLAS"),
    }  # fmt: skip
    conv1 = next(row for row in TABLE_4 if (row.layer, row.library) == ("conv1", "cuDNN"))
    assert conv1.equation_9 == 24_200
    assert conv1.grid == 96 * 774_400 // (128 * 32)
    assert grid_size(129, 1, (128, 1)) == 2


def test_compute_efficiency_is_that_of_table_3() -> None:
    """Times of the 15 longest functions in ms; both groups of conv2, and the Winograd kernel as if it were direct."""
    network = load_network("alexnet-caffe")
    times = {"conv1": 18.660997, "conv2": 14.097587 + 13.859347, "conv3": 15.649017, "fc6": 15.994523}
    expected = {"conv1": 0.352, "conv2": 0.498, "conv3": 0.595, "fc6": 0.147}
    for name, ms in times.items():
        efficiency = compute_efficiency(network[name].operations * TABLE_4_BATCH, ms / 1e3)
        assert efficiency == pytest.approx(expected[name], abs=5e-4), name
    assert pytest.approx(8.228e12, rel=1e-4) == 2 * CLOCK_HZ * CORES


def test_spartan_s_layers_are_those_of_the_small_networks() -> None:
    places = {"A": ("resnet10", "conv4_2"), "B": ("vgg11", "conv6"), "C": ("vgg11", "conv8")}
    for label, (network, name) in places.items():
        layer, spartan = load_network(network)[name], SPARTAN_LAYERS[label]
        assert layer.input_shapes == ((spartan.input_channels, spartan.input_height, spartan.input_width),)
        assert (layer.shape[0], layer.kind.kernel) == (spartan.output_channels, (spartan.filter_size,) * 2)


def test_three_alexnets_differ() -> None:
    ungrouped, caffe, owt = (load_network(name) for name in ("alexnet", "alexnet-caffe", "alexnet-owt"))
    assert ungrouped["conv2"].kind.groups == 1 and caffe["conv2"].kind.groups == 2
    assert [ungrouped["conv1"].shape[0], owt["conv1"].shape[0]] == [96, 64]
    assert all(network["fc6"].gemm.k == 9216 for network in (ungrouped, caffe, owt))


def test_backward_products_are_those_of_the_passes() -> None:
    figures = {one.name: one for one in layer_figures(plan(training(load_network("alexnet"), 16)))}
    passes = {one.what.value: one.gemm for one in figures["conv2"].passes}
    shape = lambda gemm: (gemm.m, gemm.k, gemm.n, gemm.count)  # noqa: E731
    assert shape(passes["forward"]) == (256, 2400, 729, 16)
    assert shape(passes["backward_weights"]) == (256, 729, 2400, 16)
    assert shape(passes["backward_data"]) == (2400, 256, 729, 16)
    fc = {one.what.value: one.gemm for one in figures["fc6"].passes}
    assert shape(fc["forward"]) == (4096, 9216, 16, 1)
    assert shape(fc["backward_weights"]) == (4096, 16, 9216, 1)
    assert shape(fc["backward_data"]) == (9216, 4096, 16, 1)
    forward = sum(one.macs for one in figures.values())
    assert sum(one.all_macs for one in figures.values()) == 3 * forward - figures["conv1"].macs


def test_launches_are_asked_of_whoever_knows_them() -> None:
    planned = plan(training(load_network("lenet"), 1))
    asked = layer_figures(planned, launches=lambda step: len(step.reads))
    assert [one.launches for layer in asked for one in layer.passes if one.what.value == "forward"][:2] == [3, 1]
    assert all(one.launches is None for layer in layer_figures(planned) for one in layer.passes)
