"""Are packages fetched, checked, with an environment and helper programs that run; is what fails refused?"""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.jobs.hip import built, packages
from gpusim.jobs.hip.packages import PackageError, PackageFolder, PackageSet, fetch_set, find_source
from gpusim.jobs.hip.supervisor import LIBRARY_PATH_VARIABLE

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-deb"))), reason="packages are fetched by apt-get and dpkg"
)
HELPER = "usr/lib/x86_64-linux-gnu/fake/helper"
FAKE = PackageSet("fake", ("libfake0",), ("fake-headers",), options=("--timing", "off"))
LOADER = '#!/bin/sh\necho loader "$@"\n'


def build(archive: Path, name: str, files: dict[str, bytes], depends: str = "") -> str:
    """Add a package to the archive; returns its entry of the archive's list."""
    root = archive / "build" / name
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
        (root / path).chmod(0o755)
    control = f"Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody\nDescription: fake\n"
    control += f"Depends: {depends}\n" if depends else ""
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(control)
    file = archive / f"{name}_1_amd64.deb"
    subprocess.run(["dpkg-deb", "-Znone", "-b", str(root), str(file)], check=True, stdout=subprocess.DEVNULL)
    content = file.read_bytes()
    checksum = hashlib.sha256(content).hexdigest()
    return f"{control}Filename: ./{file.name}\nSize: {len(content)}\nSHA256: {checksum}\n"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that is an archive of four packages, one of which depends on the others."""
    folder = tmp_path_factory.mktemp("archive")
    entries = [
        build(folder, "fake-libc", {"usr/lib64/ld-linux-x86-64.so.2": LOADER.encode()}),
        build(folder, "libamdhip64-5", {"usr/lib/libamdhip64.so.5": b"replaced"}),
        build(folder, "fake-headers", {"usr/include/thrust/swap.h": b"", "usr/include/stdio.h": b""}, "not-there"),
        build(folder, "libfake0", {HELPER: b"\x7fELF..."}, "fake-libc, libamdhip64-5"),
    ]
    (folder / "Packages").write_text("\n".join(entries))
    return folder


def source(archive: Path) -> str:
    return f"Types: deb\nURIs: file:{archive}\nSuites: ./\nTrusted: yes\n"


def test_a_set_is_fetched_with_what_it_depends_on(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(packages.PACKAGE_SETS, "fake", FAKE)
    command = fetch_set("fake", tmp_path / "folder", source=source(archive))
    assert command == ["gpusim", "hip", "--timing", "off", "--root", str(tmp_path / "folder"), "--", "PROGRAM"]
    record = json.loads((tmp_path / "folder/packages.json").read_text())["debian"]
    assert list(record) == ["fake-libc", "libfake0", "fake-headers"], "without the library whose place gpusim's takes"
    deb = archive / "libfake0_1_amd64.deb"
    assert record["libfake0"]["sha256"] == hashlib.sha256(deb.read_bytes()).hexdigest()

    helper = tmp_path / "folder" / HELPER
    run = subprocess.run(
        [helper, "a b"], capture_output=True, text=True, check=True, env={LIBRARY_PATH_VARIABLE: "/of/gpusim:/others"}
    )
    assert run.stdout == f"loader --library-path /of/gpusim:/others {helper}.program a b\n"
    assert Path(f"{helper}.program").read_bytes() == b"\x7fELF..."
    with pytest.raises(PackageError, match=r"packages of other suites \(Suites: sid\): another folder is needed"):
        PackageFolder(tmp_path / "folder").fetch_debian(["libfake0"], source(archive).replace("./", "sid"))
    monkeypatch.setattr(PackageFolder, "_run", None)
    assert fetch_set("fake", tmp_path / "folder", source=source(archive)) == command, "nothing is fetched again"


def test_rocms_folder_has_the_headers_of_the_programs_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for header in ("rocm/include/hip/hip_runtime.h", "root/usr/include/thrust/swap.h", "root/usr/include/stdio.h"):
        (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / header).touch()
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(built, "libraries", lambda: tmp_path)
    monkeypatch.setattr(built, "hip_root", lambda: tmp_path / "rocm")
    plain, with_headers = (built.rocm_folder(root) for root in (None, tmp_path / "root"))
    assert plain is not None and (plain / "include/hip/hip_runtime.h").exists()
    assert with_headers is not None and (with_headers / "include/hip/hip_runtime.h").exists()
    assert (with_headers / "include/thrust/swap.h").exists() and not (plain / "include/thrust").exists()
    assert not (with_headers / "include/stdio.h").exists(), "another C library's headers come before the host's"


def test_what_cannot_be_fetched_is_refused(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = PackageFolder(tmp_path / "folder")
    with pytest.raises(PackageError, match=r"apt-get install: .*Unable to locate package nothing"):
        folder.fetch_debian(["nothing"], source(archive))
    with pytest.raises(PackageError, match=r"apt-get update: .*does not exist|apt-get update: .*not found"):
        folder.fetch_debian(["libfake0"], source(tmp_path / "nowhere"))
    shutil.copytree(archive, tmp_path / "damaged")
    (tmp_path / "damaged/libfake0_1_amd64.deb").write_bytes(b"!<arch>\n")
    with pytest.raises(PackageError, match=r"apt-get download: .*(libfake0|mismatch|unexpected size)"):
        folder.fetch_debian(["libfake0"], source(tmp_path / "damaged"), with_dependencies=False)
    with pytest.raises(PackageError, match="unknown set 'cupyy'; did you mean 'cupy'"):
        fetch_set("cupyy", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackageError, match=r"apt-get is not installed here"):
        find_source()
    monkeypatch.setitem(packages.PACKAGE_SETS, "fake", FAKE)
    with pytest.raises(PackageError, match=r"apt-get is not installed here"):
        fetch_set("fake", tmp_path / "folder")
    monkeypatch.setitem(packages.PACKAGE_SETS, "fake", replace(FAKE, needed=False))
    assert fetch_set("fake", tmp_path / "without") == ["gpusim", "hip", "--timing", "off", "--", "PROGRAM"]


@pytest.mark.nightly  # makes an environment; the record is the same for Debian's packages, tested above
def test_the_environment_has_the_wheels_and_their_checksums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "fake_cupy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("fake_cupy.py", "")
        for name, text in {
            "METADATA": "Metadata-Version: 2.1\nName: fake-cupy\nVersion: 1.0\n",
            "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "",
        }.items():
            file.writestr(f"fake_cupy-1.0.dist-info/{name}", text)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    folder = PackageFolder(tmp_path / "folder")
    folder.folder.mkdir()
    interpreter = folder.make_environment(["fake-cupy==1.0"], sys.executable)
    subprocess.run([interpreter, "-c", "import fake_cupy"], check=True)
    wheels = json.loads((folder.folder / "packages.json").read_text())["wheels"]
    checksum = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert wheels == {"fake-cupy": {"file": wheel.name, "sha256": checksum}}
    run = PackageFolder._run  # the environment stays: to make one takes most of the time
    monkeypatch.setattr(PackageFolder, "_run", lambda self, *words: "" if "venv" in words else run(self, *words))
    with pytest.raises(PackageError, match=r"-m: .*No matching distribution found for fake-cupy==2.0"):
        folder.make_environment(["fake-cupy==2.0"], sys.executable)


# of 24.04's universe, amd64, by Ubuntu's public package lists
NOBLE = {
    "librocblas0": "5.5.1", "librocsparse0": "5.7.1", "librocrand1": "5.7.1", "librocfft0": "5.7.1",
    "librocsolver0": "5.5.1", "libhipblas0": "5.5.1", "libhipsparse0": "5.7.1", "libhipfft0": "5.7.1",
    "libhiprand1": "5.7.1", "librccl1": "5.4.3", "librocalution0": "5.7.1", "libhipsolver0": "5.5.1",
}  # fmt: skip


def test_sets_that_ubuntu_has_ask_for_names_of_its_lists() -> None:
    of_ubuntu = {name for name, one in packages.PACKAGE_SETS.items() if packages.DISTRIBUTIONS[1] in one.distributions}
    assert of_ubuntu == {"cupy", "libraries"} and packages.DISTRIBUTIONS[1].suite == "noble"
    for name in of_ubuntu:
        assert not set(packages.PACKAGE_SETS[name].debian) - set(NOBLE)
