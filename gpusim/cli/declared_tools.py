"""Commands that simulate nothing, with their options: `show`, `metrics`, `capture`, `disasm`, `kernels ...`."""

from pathlib import Path
from typing import Annotated

import typer

from gpusim.base.interrupt import interrupt_python
from gpusim.cli.options import ConfigArgument, SetOption


def show(
    config: ConfigArgument,
    sets: SetOption,
    values: Annotated[
        bool, typer.Option("--values", help="Print every value as YAML, with its meaning and source.")
    ] = False,
) -> None:
    """Print the machine that a run's or a GPU's configuration describes."""
    from gpusim.cli.show import show_command

    show_command(config, sets, values)


def metrics(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/metrics.md.")] = False,
) -> None:
    """List every reported metric with unit and definition."""
    from gpusim.cli.tables import print_metrics

    print_metrics(markdown)


_IMAGES = (
    "CIFAR-10 images as .npz (x_train, y_train, ...); for alexnet, vgg16 and resnet18 a folder or .zip of photographs."
)


def capture(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="vggnet11, resnet10; alexnet, vgg16, resnet18.")],
    images: Annotated[
        Path,
        typer.Argument(
            metavar="IMAGES",
            help=_IMAGES,
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the activation files.")],
    epochs: Annotated[int, typer.Option(help="Epochs of training.")] = 100,
    batch: Annotated[int, typer.Option(help="Images in a training batch.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed of initial weights, order and augmentation.")] = 0,
    captured_images: Annotated[int, typer.Option("--images", help="Images whose maps are stored.")] = 256,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ... as PyTorch names it.")] = "auto",
) -> None:
    """Train a network and store the activation maps of its layers (needs the extra 'capture')."""
    from gpusim.cli.capture import capture_command

    interrupt_python()
    capture_command(model, images, out, epochs, batch, seed, captured_images, device)


def disasm(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="AMDGPU code object (ELF, gfx803).")],
    kernel: Annotated[str | None, typer.Option(metavar="NAME", help="Only this kernel.")] = None,
    source: Annotated[
        bool, typer.Option("--source", help="Print the source lines too (of what was compiled with -g).")
    ] = False,
    hazards: Annotated[
        bool,
        typer.Option("--hazards", help="List only where wait states (s_nop) are missing; exit code 1 if any are."),
    ] = False,
) -> None:
    """Print a code object's kernels as assembly, with resources and static instruction counts."""
    from gpusim.cli.disasm import disasm_command

    raise typer.Exit(disasm_command(file, kernel, hazards, source))


def kernels_build(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="OpenCL C (.cl), HIP (.hip), assembly (.s) or LLVM IR (.ll). [default: shipped]",
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("-g", help="Keep line tables, for faults, hotspots and disassembly.")] = False,
) -> None:
    """Compile kernels into code objects beside their sources: through clang and lld; LLVM IR works without either."""
    from gpusim.cli.kernels import build_command

    interrupt_python()
    build_command(sources or [], debug)


def kernels_check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="Code objects, bundles, fat binaries, folders of them. [default: shipped]"
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the files' table as Markdown.")] = False,
) -> None:
    """Say which kernels of files can be executed, and why others cannot; or compare the shipped with their sources."""
    from gpusim.cli.kernels import check_command

    interrupt_python()
    raise typer.Exit(check_command(files or [], markdown))
