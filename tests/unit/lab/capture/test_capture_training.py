"""Networks, and captures of a few images against a direct evaluation (skipped without PyTorch)."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from gpusim.config.network import load_network
from gpusim.lab.capture.capture import CAPTURE_POINTS, PHOTOGRAPHS, CaptureError, CirculantWeights, Recipe, capture
from gpusim.lab.capture.image_set import CROP_PADDING, crop_and_flip, load_images
from tests.support.daily import parametrize_daily
from workloads.data.activations_file import load_activations
from workloads.shapes import ALEXNET, RESNET18, VGGNET16

torch = pytest.importorskip("torch")
models = pytest.importorskip("gpusim.lab.capture.models")

BATCH = 8
TINY = Recipe(epochs=1, batch=BATCH, seed=5)


@pytest.fixture(scope="module")
def images_path(tmp_path_factory):
    rng = np.random.default_rng(7)
    path = tmp_path_factory.mktemp("images") / "tiny.npz"
    images = rng.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
    labels = np.arange(20) % 10
    np.savez(path, x_train=images, y_train=labels, x_test=images[:10], y_test=labels[:10])
    return path


def input_of(network, module, maps):
    """The input of a convolution when the network runs on `maps` [n, 3, 32, 32], in training mode."""
    with torch.no_grad():
        if "." not in module:
            position = [name for name, _ in network.named_children()].index(module)
            return network[:position](maps).numpy()
        block_name = module.split(".")[0]
        position = [name for name, _ in network.named_children()].index(block_name)
        block = network[position]
        return torch.relu(block.norm1(block.conv1(network[:position](maps)))).numpy()


@pytest.mark.parametrize(("model", "weighted"), [("vggnet11", 11), ("resnet10", 10)])
def test_networks_have_the_layers_their_names_say(model, weighted):
    network = models.build(model)
    layers = [
        module
        for module in network.modules()
        if isinstance(module, torch.nn.Linear) or (isinstance(module, torch.nn.Conv2d) and module.kernel_size == (3, 3))
    ]
    assert len(layers) == weighted
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, models.CLASSES)
    for point in CAPTURE_POINTS[model]:
        convolution = network.get_submodule(point.module)
        assert tuple(convolution.weight.shape) == (512, 512, 3, 3)
        maps = input_of(network, point.module, torch.rand(2, 3, 32, 32))
        assert maps.shape == (2, *point.shape)
        assert convolution(torch.from_numpy(maps)).shape == (2, *point.shape)


def noted_in(seen, name):
    """A hook that notes the shape of a module's input and changes nothing."""

    def hook(module, inputs):
        seen[name] = tuple(inputs[0].shape[1:])

    return hook


@pytest.mark.parametrize("model", PHOTOGRAPHS)
def test_networks_on_photographs_have_the_tables_convolutions(model):
    """On PyTorch's meta device: shapes alone."""
    with torch.device("meta"):
        network = {"alexnet": models.alexnet, "vgg16": models.vgg_16, "resnet18": models.resnet_18}[model](17)
        seen = {}
        for name, module in network.named_modules():
            if isinstance(module, torch.nn.Conv2d):
                module.register_forward_pre_hook(noted_in(seen, name))
        assert network(torch.zeros(2, 3, 224, 224)).shape == (2, 17)
    layers = {"alexnet": ALEXNET, "vgg16": VGGNET16, "resnet18": RESNET18}[model]
    assert len(PHOTOGRAPHS[model]) == len(layers) - 1
    for point, layer in zip(PHOTOGRAPHS[model], layers[1:], strict=True):
        convolution = network.get_submodule(point.module)
        assert point.source_layer == layer.name and seen[point.module] == point.shape
        sizes = (layer.output_channels, layer.input_channels, layer.filter_size, layer.filter_size)
        assert tuple(convolution.weight.shape) == sizes
        assert convolution.stride == (layer.stride,) * 2 and convolution.padding == (layer.padding,) * 2


def test_mobilenet_v2_has_the_shipped_networks_convolutions():
    """By name, sizes and maps, which are the file's."""
    built, seen = {}, {}
    with torch.device("meta"):
        network = models.mobilenet_v2(17)
        for name, module in network.named_modules():
            if isinstance(module, torch.nn.Conv2d):
                layer = name.replace(".", "_")
                module.register_forward_pre_hook(noted_in(seen, layer))
                built[layer] = (module.out_channels, module.kernel_size, module.stride, module.groups)
        assert network(torch.zeros(2, 3, 224, 224)).shape == (2, 17)
    wanted, shapes = {}, {}
    for layer in load_network("mobilenet_v2").layers:
        if layer.kind_name == "convolution":
            kind = layer.kind
            wanted[layer.name] = (kind.filters, kind.kernel, kind.stride, kind.groups)
            shapes[layer.name] = layer.input_shapes[0]
    assert built == wanted and seen == shapes


def test_a_capture_of_photographs_has_every_layer(tmp_path):
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(3)
    for number in range(2):
        pixels = random.integers(0, 256, (230, 250, 3), dtype=np.uint8)
        (tmp_path / "in" / f"class{number % 2}").mkdir(parents=True, exist_ok=True)
        image.fromarray(pixels).save(tmp_path / "in" / f"class{number % 2}" / f"{number}.png")
    layers = capture("resnet18", tmp_path / "in", tmp_path / "out", Recipe.of("resnet18", 1, 2, 0), "cpu", 1)
    assert [layer.path.name for layer in layers] == [f"{point.label}.npz" for point in PHOTOGRAPHS["resnet18"]]
    for layer in layers:
        maps = load_activations(layer.path)
        assert maps.array.shape == (1, *layer.point.shape) and maps.metadata["source_sparsity"] == [0.3, 0.5]
    with (tmp_path / "out" / "resnet18.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert {f"sparsity_{point.module}" for point in PHOTOGRAPHS["resnet18"]} <= set(row)


def test_layers_b_and_c_are_convolutions_5_and_7_counted_from_zero():
    convolutions = [name for name, module in models.build("vggnet11").named_modules() if name.startswith("conv")]
    assert [convolutions.index(point.module) for point in CAPTURE_POINTS["vggnet11"]] == [5, 7]


@parametrize_daily("model", ["vggnet11", "resnet10"], (1,))
def test_captured_maps_are_the_convolutions_inputs_at_the_first_step(model, images_path, tmp_path):
    recipe = Recipe(epochs=1, batch=20, seed=5)
    layers = capture(model, images_path, tmp_path, recipe, device="cpu", captured_images=18)
    # One epoch of one batch: the maps are those of the initial weights.
    torch.manual_seed(recipe.seed)
    network = models.build(model).train()
    train, _ = load_images(images_path, models.CLASSES).normalised()
    rng = np.random.default_rng(recipe.seed)
    order = rng.permutation(20)
    rows, columns = crop_and_flip(rng, 20)
    pad = CROP_PADDING
    maps = np.stack(
        [
            np.pad(train[image], ((0, 0), (pad, pad), (pad, pad)))[:, row, column]
            for image, row, column in zip(order, rows, columns, strict=True)
        ]
    )
    for layer in layers:
        expected = input_of(network, layer.point.module, torch.from_numpy(maps))[:18]
        loaded = load_activations(layer.path)
        assert layer.shape == loaded.array.shape == (18, *layer.point.shape)
        np.testing.assert_allclose(loaded.array, expected, rtol=2e-3, atol=1e-4)
        assert layer.sparsity == pytest.approx(np.mean(expected == 0), abs=2e-3)
        assert loaded.metadata["recipe"]["seed"] == 5 and loaded.metadata["versions"]["torch"] == torch.__version__


@pytest.mark.nightly  # the tests above capture a first step, and have the table
def test_captures_learn_report_and_repeat(images_path, tmp_path):
    records = []
    recipe = Recipe(epochs=2, batch=BATCH, seed=1, peak_learning_rate=0.002, warmup_epochs=1)
    first = capture("vggnet11", images_path, tmp_path / "a", recipe, "cpu", 9, records.append)
    second = capture("vggnet11", images_path, tmp_path / "b", recipe, "cpu", 9)
    # 9 images take two batches of 8; 20 images make two whole batches an epoch.
    assert [(record.epoch, record.steps) for record in records] == [(1, 2), (2, 2)]
    for one, other in zip(first, second, strict=True):
        assert one.shape[0] == 9
        assert (load_activations(one.path).array == load_activations(other.path).array).all()
        assert 0 < one.sparsity < 1
    with (tmp_path / "a" / "vggnet11.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["steps"]) for row in rows] == [2, 4]
    assert [float(row["sparsity_conv6"]) for row in rows] == pytest.approx(
        [record.sparsity["conv6"] for record in records], abs=6e-5
    )
    assert set(records[0].sparsity) == {f"conv{number}" for number in range(2, 9)}
    # The weights move: the maps of another epoch differ.
    early = capture("vggnet11", images_path, tmp_path / "c", replace(recipe, epochs=1), "cpu", 9)
    assert (load_activations(early[0].path).array != load_activations(first[0].path).array).any()


@pytest.mark.nightly  # that weights move and captures repeat is tested above
def test_training_on_a_learnable_task_reaches_it(tmp_path):
    # One colour a class: a network that trains at all separates them.
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 3
    images = np.full((30, 32, 32, 3), 40, np.uint8) + rng.integers(0, 20, (30, 32, 32, 3), dtype=np.uint8)
    images[np.arange(30), :, :, labels] += 160
    np.savez(tmp_path / "colours.npz", x_train=images, y_train=labels, x_test=images[:9], y_test=labels[:9])
    records = []
    recipe = Recipe(epochs=3, batch=10, seed=0, warmup_epochs=1)
    capture("resnet10", tmp_path / "colours.npz", tmp_path, recipe, "cpu", 10, records.append)
    assert records[-1].train_accuracy > 0.9


def test_too_few_images_and_unusable_devices_are_told(images_path, tmp_path):
    with pytest.raises(CaptureError, match="capturing 256 images takes 32 whole batches of 8, found 20"):
        capture("resnet10", images_path, tmp_path, TINY)
    with pytest.raises(CaptureError, match="device: 'abacus' cannot be used"):
        capture("resnet10", images_path, tmp_path, TINY, device="abacus", captured_images=8)
    with pytest.raises(CaptureError, match="captured images: expected at least 1"):
        capture("resnet10", images_path, tmp_path, TINY, captured_images=0)


def test_diverged_training_is_told(images_path, tmp_path):
    recipe = Recipe(epochs=3, batch=BATCH, peak_learning_rate=1e30, warmup_epochs=0)
    with pytest.raises(CaptureError, match="diverged in epoch"):
        capture("vggnet11", images_path, tmp_path, recipe, "cpu", 8)
    assert not list(tmp_path.glob("*.npz"))


def test_circulant_weights_are_gathered_into_blocks():
    """Against the definition: column c of a block is its first column, turned down by c."""
    modules = pytest.importorskip("gpusim.lab.capture.circulant_modules")
    layer = modules.CirculantLinear(8, 12, 4)
    free = layer.blocks.free.detach().numpy()
    matrix = np.block(
        [[np.stack([np.roll(free[i, j], c) for c in range(4)], axis=1) for j in range(2)] for i in range(3)]
    )
    assert np.array_equal(layer.blocks().detach().numpy(), matrix)
    maps = torch.rand(5, 8)
    assert np.allclose(layer(maps).detach().numpy(), maps.numpy() @ matrix.T, atol=1e-6)
    layer(maps).sum().backward()
    sums = maps.sum(0).numpy()  # the gradient of each dense weight: that of its column
    expected = [sums[4 * j : 4 * j + 4].sum() / 2.0 for j in range(2)]  # over the root of four
    assert np.allclose(layer.blocks.free.grad.numpy(), np.array(expected)[None, :, None], atol=1e-6)


@pytest.mark.parametrize(("kernel", "stride", "bias"), [(3, 1, True), (1, 2, False), (5, 1, True)])
def test_a_circulant_convolution_is_that_of_its_blocks(kernel, stride, bias):
    modules = pytest.importorskip("gpusim.lab.capture.circulant_modules")
    padding = kernel // 2
    dense = torch.nn.Conv2d(16, 32, kernel, stride=stride, padding=padding, bias=bias)
    maps = torch.rand(2, 16, 5, 5)
    columns = torch.nn.functional.unfold(maps, kernel, padding=padding, stride=stride)
    places = columns.shape[-1]
    side = int(places**0.5)
    layer = modules.CirculantConvolution(dense, 16)
    direct = (layer.blocks() @ columns).reshape(2, 32, side, side)
    assert torch.allclose(layer(maps), direct, atol=1e-5) and (layer.bias is not None) == bias
    layer = modules.CirculantConvolution(dense, 16, "channels")  # im2col's rows, a tap's channels side by side
    by_tap = columns.reshape(2, 16, kernel**2, places).transpose(1, 2).reshape(2, 16 * kernel**2, places)
    assert torch.allclose(layer(maps), (layer.blocks() @ by_tap).reshape(2, 32, side, side), atol=1e-5)


CIRCULANT = [
    ("cifar7", CirculantWeights(16), 5),
    ("cifarnet", CirculantWeights(32), 3),
    ("cifarnet", CirculantWeights(64), 1),  # the first fully connected layer alone has whole blocks
    ("vggnet11", CirculantWeights(64), 9),
    ("vggnet11", CirculantWeights(64, layers="fully_connected"), 2),
    ("resnet18cifar", CirculantWeights(64), 19),
]


@pytest.mark.parametrize(("model", "weights", "circulant"), CIRCULANT)
def test_all_layers_with_whole_blocks_but_the_first_and_the_last_become_circulant(model, weights, circulant):
    dense = [m for m in models.build(model).modules() if isinstance(m, torch.nn.Linear | torch.nn.Conv2d)]
    network = models.build(model, circulant=weights)
    layers = [m for m in network.modules() if isinstance(m, torch.nn.Linear | torch.nn.Conv2d)]
    assert len(layers) == len(dense) - circulant and network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    assert layers[0].in_channels == 3 and layers[-1].out_features == 10


def test_a_network_without_whole_blocks_is_refused():
    with pytest.raises(CaptureError, match="resnet10: no layer of 'fully_connected'"):
        models.build("resnet10", circulant=CirculantWeights(64, layers="fully_connected"))


def test_cifarnet_records_what_average_pools_read(images_path, tmp_path):
    assert capture("cifarnet", images_path, tmp_path, TINY, "cpu", 8) == []
    with (tmp_path / "cifarnet.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert {"sparsity_pool2", "sparsity_pool3", "sparsity_conv2"} <= set(row)
