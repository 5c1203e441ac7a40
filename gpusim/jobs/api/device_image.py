"""Images and samplers in device memory, as scripts hold them: arguments of OpenCL C's `image2d_t` and `sampler_t`."""

import weakref
from typing import Any

import numpy as np

from gpusim.base.errors import unknown_name
from gpusim.jobs.api.device_array import DeviceArray, DeviceArrayError
from isa.device_memory import DeviceMemory
from isa.image_resource import (
    CLAMPS,
    IMAGE_KINDS,
    PITCH_ALIGNMENT,
    ImageResource,
    ImageSampler,
    TexelFormat,
    why_no_sampler,
)
from isa.kernarg import ImageWords, Pointer, SamplerWords

_TEXELS = PITCH_ALIGNMENT  # bytes from the image's words to its first texel
_NUMBERS = {("u", False): "uint", ("i", False): "sint", ("u", True): "unorm", ("i", True): "snorm"}


class DeviceImage(DeviceArray):
    """An image in device memory: `shape`, `dtype`; axes [layer or z, y, x, channel], without the last for one channel.

    Its `address` is that of the words that a kernel's argument points to; the texels lie behind them, in rows that
    begin at multiples of 256 bytes.
    """

    def __init__(
        self, memory: DeviceMemory, host: np.ndarray, kind: str, fractions: bool, name: str, generation: int
    ) -> None:
        if kind not in IMAGE_KINDS:
            raise DeviceArrayError(f"image '{name}': {unknown_name('kind', kind, IMAGE_KINDS)}")
        self.kind = kind
        dimensions, arrayed = IMAGE_KINDS[kind]
        axes = dimensions + arrayed
        if host.ndim not in (axes, axes + 1):
            raise DeviceArrayError(
                f"image '{name}': shape {host.shape}: of {kind} {axes} axes, or {axes + 1}, the last of channels"
            )
        self._form = _format_of(host.dtype, host.shape[axes] if host.ndim > axes else 1, fractions, name)
        sizes = host.shape[:axes][::-1]
        self._pitch_bytes: int = -(-sizes[0] * self._form.texel_bytes // PITCH_ALIGNMENT) * PITCH_ALIGNMENT
        super().__init__(memory, None, host.shape, host.dtype, name, True)
        width, height, depth = (*sizes[:dimensions], 1, 1)[:3]
        place = self.address + _TEXELS
        layers = sizes[-1] if arrayed else 0
        resource = ImageResource(
            address=place,
            form=self._form,
            dimensions=dimensions,
            width=width,
            height=height,
            depth=depth,
            layers=layers,
            pitch_bytes=self._pitch_bytes,
        )
        words = (*resource.words(generation), *self._form.described(width))
        memory.view(self._held())[: 4 * len(words)] = np.array(words, np.uint32).view(np.uint8)
        self._view()[...] = host

    @property
    def held_bytes(self) -> int:
        """Bytes of device memory: of the words, and of the rows with the gaps between them."""
        dimensions, arrayed = IMAGE_KINDS[self.kind]
        rows = int(np.prod(self.shape[: dimensions + arrayed - 1]))
        return _TEXELS + rows * self._pitch_bytes

    def pointer(self, offset_bytes: int = 0) -> Pointer:
        """Raise DeviceArrayError: no pointer of a kernel's means an image."""
        raise DeviceArrayError(f"image '{self.name}': a kernel takes it as an image, not by a pointer")

    def argument(self) -> ImageWords:
        """Return what a kernel's argument block says of the image."""
        return ImageWords(self.address, f"image{self.kind}_t")

    def _view(self) -> np.ndarray:
        dimensions, arrayed = IMAGE_KINDS[self.kind]
        axes = dimensions + arrayed
        rows = self._memory.view(self._held())[_TEXELS:].reshape(*self.shape[: axes - 1], self._pitch_bytes)
        used = rows[..., : self.shape[axes - 1] * self._form.texel_bytes].view(self.dtype)
        texels: np.ndarray = used.reshape(self.shape, copy=False)
        return texels

    def __repr__(self) -> str:
        return super().__repr__().replace("device array", f"device image ({self.kind})")


class DeviceSampler:
    """A sampler in device memory, which is freed with it: an argument of OpenCL C's `sampler_t`."""

    def __init__(self, memory: DeviceMemory, linear: bool, address: str, normalized: bool, name: str) -> None:
        if address not in CLAMPS:
            raise DeviceArrayError(f"sampler '{name}': {unknown_name('address', address, CLAMPS)}")
        if problem := why_no_sampler(address, normalized):
            raise DeviceArrayError(f"sampler '{name}': {problem}")
        words = ImageSampler((CLAMPS[address],) * 3, linear, normalized).words()
        self._memory, self.name = memory, name
        allocation = memory.upload(np.array(words, np.uint32), name, writable=False)
        self._address = allocation.address
        weakref.finalize(self, memory.free, allocation).atexit = False

    def belongs_to(self, memory: DeviceMemory) -> bool:
        """Tell whether the sampler lies in this memory."""
        return self._memory is memory

    def argument(self) -> SamplerWords:
        """Return what a kernel's argument block says of the sampler."""
        return SamplerWords(self._address)


def _format_of(dtype: np.dtype, channels: int, fractions: Any, name: str) -> TexelFormat:
    if dtype.kind == "f" and not fractions:
        number = "float"
    elif (dtype.kind, fractions) in _NUMBERS:
        number = _NUMBERS[dtype.kind, fractions]
    else:
        what = f"elements of type {dtype}" + " as fractions" * fractions
        raise DeviceArrayError(f"image '{name}': {what} are no texels: whole numbers or, not as fractions, real ones")
    return TexelFormat(8 * dtype.itemsize, channels, number)
