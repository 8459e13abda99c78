"""The MNIST example: it reads what it says it reads, and it learns."""

from __future__ import annotations

import gzip
import importlib.util
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mnist_mlp.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("mnist_mlp", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    return (
        rng.integers(0, 256, (6, 28, 28)).astype(np.uint8),
        np.arange(6, dtype=np.uint8),
        rng.integers(0, 256, (2, 28, 28)).astype(np.uint8),
        np.array([9, 8], np.uint8),
    )


def check(loaded, parts):
    images, labels, test_images, test_labels = loaded
    assert images.dtype == test_images.dtype == np.float32
    assert labels.dtype == test_labels.dtype == np.int32
    np.testing.assert_allclose(images, parts[0].reshape(6, 784) / 255.0, rtol=1e-6)
    np.testing.assert_allclose(test_images, parts[2].reshape(2, 784) / 255.0, rtol=1e-6)
    assert labels.tolist() == parts[1].tolist() and test_labels.tolist() == [9, 8]


def test_full_mnist_as_npz(example, parts, tmp_path):
    np.savez(tmp_path / "mnist.npz", **dict(zip(("x_train", "y_train", "x_test", "y_test"), parts, strict=True)))
    check(example.load(tmp_path / "mnist.npz"), parts)


@pytest.mark.parametrize("zipped", [False, True])
def test_full_mnist_as_idx_files(example, parts, tmp_path, zipped):
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    for name, part in zip(names, parts, strict=True):
        data = struct.pack(f">HBB{part.ndim}I", 0, 8, part.ndim, *part.shape) + part.tobytes()
        if zipped:
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            (tmp_path / name).write_bytes(data)
    check(example.load(tmp_path), parts)


def test_what_cannot_be_read_is_named(example, tmp_path):
    with pytest.raises(SystemExit, match="no such file or folder: .*absent.npz"):
        example.load(tmp_path / "absent.npz")
    with pytest.raises(SystemExit, match=r"no file train-images-idx3\* in "):
        example.load(tmp_path)
    np.savez(tmp_path / "other.npz", a=np.zeros(1))
    with pytest.raises(SystemExit, match=r"other.npz holds \['a'\]; expected x_train, y_train, x_test and y_test"):
        example.load(tmp_path / "other.npz")


def test_ten_epochs_on_the_bundled_images_reach_95_percent():
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # the progress line is for terminals
    first, *epochs = done.stdout.splitlines()
    assert first.startswith("9,000 training images, 1,000 held out, on ")
    accuracies = [float(re.search(r"accuracy ([\d.]+)%", line)[1]) for line in epochs]
    assert len(accuracies) == 10
    assert accuracies[-1] >= 95.0
