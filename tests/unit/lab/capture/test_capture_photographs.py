"""Are photographs of any size read from folders and archives, with their classes? (Skipped without Pillow.)"""

import zipfile

import numpy as np
import pytest

from gpusim.lab.capture.image_set import ImageSetError
from gpusim.lab.capture.photographs import SIDE, load_photographs

image = pytest.importorskip("PIL.Image")


def save(path, width, height, colour):
    path.parent.mkdir(parents=True, exist_ok=True)
    image.fromarray(np.full((height, width, 3), colour, np.uint8)).save(path)


def test_a_folder_with_a_folder_a_class(tmp_path):
    save(tmp_path / "b" / "1.png", 300, 224, (10, 20, 30))
    save(tmp_path / "a" / "2.png", 64, 500, (40, 50, 60))
    save(tmp_path / "a" / "3.JPG", 224, 224, (70, 80, 90))
    (tmp_path / "notes.txt").write_text("no image")
    found = load_photographs(tmp_path)
    assert found.x_train.shape == (3, SIDE, SIDE, 3) and found.side == SIDE and len(found.x_test) == 0
    assert found.y_train.tolist() == [0, 0, 1]
    assert found.x_train[0, 0, 0].tolist() == [40, 50, 60] and found.x_train[2, -1, -1].tolist() == [10, 20, 30]


def test_an_archive_whose_names_begin_with_the_class(tmp_path):
    for name in ("n2_dog", "n1_cat_2", "n1_cat_1"):
        save(tmp_path / "images" / f"{name}.png", SIDE, SIDE, (len(name), 0, 0))
    archive = tmp_path / "images.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted((tmp_path / "images").iterdir(), reverse=True):
            file.write(path, path.name)
    found = load_photographs(archive)
    assert found.y_train.tolist() == [0, 0, 1] and found.classes == 10
    assert (found.x_train == load_photographs(tmp_path / "images").x_train).all()


def test_what_is_wrong_names_the_file(tmp_path):
    with pytest.raises(ImageSetError, match="none: no such file or folder"):
        load_photographs(tmp_path / "none")
    (tmp_path / "in").mkdir()
    with pytest.raises(ImageSetError, match=r"in: no image in it; image files end in .jpg"):
        load_photographs(tmp_path / "in")
    save(tmp_path / "in" / "n1_a.png", 10, 10, (0, 0, 0))
    with pytest.raises(ImageSetError, match="all images are of one class, 'n1'"):
        load_photographs(tmp_path / "in")
    (tmp_path / "in" / "n2_b.png").write_bytes(b"no image")
    with pytest.raises(ImageSetError, match=r"in: n2_b.png: cannot be read as an image"):
        load_photographs(tmp_path / "in")
    (tmp_path / "broken.zip").write_bytes(b"no archive")
    with pytest.raises(ImageSetError, match=r"broken.zip: expected a folder or a .zip of image files"):
        load_photographs(tmp_path / "broken.zip")
