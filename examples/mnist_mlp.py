"""Train a 784-256-128-10 network on handwritten digits.

    python examples/mnist_mlp.py                         # the 10,000 images that come with the repository
    python examples/mnist_mlp.py --data ~/mnist.npz      # full MNIST: x_train, y_train, x_test, y_test
    python examples/mnist_mlp.py --data ~/mnist          # ... or a folder of the original IDX files, gzipped or not

Prints the loss and the accuracy on the held-out images after each epoch.
"""

from __future__ import annotations

import argparse
import gzip
import struct
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import xtrace as xt
import xtrace.numpy as xnp

BUNDLED = Path(__file__).resolve().parent / "data" / "mnist_10k.npz"
HELD_OUT = 1_000
SIZES = (784, 256, 128, 10)


# Data


def read_idx(folder, stem):
    """The array in an IDX file: two zero bytes, a type code (8: bytes), the rank, the sizes, then the elements."""
    for path in sorted(folder.glob(stem + "*")):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        zero, code, rank = struct.unpack(">HBB", data[:4])
        if zero != 0 or code != 8:
            raise SystemExit(f"{path} is not an IDX file of bytes")
        shape = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
        return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)
    raise SystemExit(f"no file {stem}* in {folder}")


def load(path):
    """(train images, train labels, held-out images, held-out labels): images (n, 784) float32 in 0..1."""
    if path.is_dir():
        parts = [
            read_idx(path, f"{part}-{kind}") for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
        ]
    elif not path.exists():
        raise SystemExit(f"no such file or folder: {path}")
    else:
        with np.load(path) as data:
            if "x_train" in data:
                parts = [data[name] for name in ("x_train", "y_train", "x_test", "y_test")]
            elif {"images", "labels"} <= set(data):
                images, labels = data["images"], data["labels"]
                parts = [images[:-HELD_OUT], labels[:-HELD_OUT], images[-HELD_OUT:], labels[-HELD_OUT:]]
            else:
                raise SystemExit(f"{path} holds {sorted(data)}; expected x_train, y_train, x_test and y_test")
    train_images, train_labels, test_images, test_labels = parts
    flat = [images.reshape(len(images), -1).astype(np.float32) / 255 for images in (train_images, test_images)]
    return flat[0], train_labels.astype(np.int32), flat[1], test_labels.astype(np.int32)


# Network


def init_params(key, sizes=SIZES):
    """One weight and bias per layer; He initialisation keeps the variance of relu activations near one."""
    keys = xt.random.split(key, len(sizes) - 1)
    return [
        {"w": xt.random.normal(k, (n_in, n_out)) * xnp.sqrt(2.0 / n_in), "b": xnp.zeros(n_out)}
        for k, n_in, n_out in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def predict(params, images):
    """Log-probabilities of the ten digits, (n, 10)."""
    *hidden, last = params
    x = images
    for layer in hidden:
        x = xt.nn.relu(x @ layer["w"] + layer["b"])
    return xt.nn.log_softmax(x @ last["w"] + last["b"])


def cross_entropy(params, images, labels):
    return -xnp.mean(xnp.sum(predict(params, images) * xt.nn.one_hot(labels, 10), axis=-1))


@xt.jit
def accuracy(params, images, labels):
    return xnp.mean(xnp.argmax(predict(params, images), axis=-1) == labels)


# Adam (Kingma and Ba, 2015, algorithm 1)


def adam_init(params):
    zeros = xt.tree.map(xnp.zeros_like, params)
    return {"m": zeros, "v": xt.tree.map(xnp.zeros_like, params), "t": xnp.zeros((), xnp.int32)}


def adam_update(grads, state, params, rate, b1=0.9, b2=0.999, eps=1e-8):
    t = state["t"] + 1
    m = xt.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["m"], grads)
    v = xt.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state["v"], grads)
    m_scale, v_scale = 1 / (1 - b1**t), 1 / (1 - b2**t)
    params = xt.tree.map(lambda p, m, v: p - rate * m * m_scale / (xnp.sqrt(v * v_scale) + eps), params, m, v)
    return params, {"m": m, "v": v, "t": t}


# The old parameters and moments are never used again: donating them lets XLA write the new ones in their place.
@partial(xt.jit, donate_argnums=(0, 1))
def train_step(params, state, images, labels, rate):
    loss, grads = xt.value_and_grad(cross_entropy)(params, images, labels)
    params, state = adam_update(grads, state, params, rate)
    return params, state, loss


def progress(text):
    """Show `text` on a line of its own that the next call replaces; nothing when stderr is not a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)


def train(data, epochs, batch_size, rate, seed):
    """Train for `epochs` passes over the data, printing a line for each; returns the last accuracy."""
    images, labels, test_images, test_labels = data
    init_key, order_key = xt.random.split(xt.random.PRNGKey(seed))
    params = init_params(init_key)
    state = adam_init(params)
    batches = len(images) // batch_size
    for epoch in range(1, epochs + 1):
        start = time.perf_counter()
        order = np.asarray(xt.random.permutation(xt.random.fold_in(order_key, epoch), len(images)))
        total = 0.0
        for i in range(batches):
            chosen = order[i * batch_size : (i + 1) * batch_size]
            params, state, loss = train_step(params, state, images[chosen], labels[chosen], rate)
            total += loss
            progress(f"epoch {epoch}/{epochs}  batch {i + 1}/{batches}")
        reached = float(accuracy(params, test_images, test_labels))
        progress("")
        seconds = time.perf_counter() - start
        print(
            f"epoch {epoch:2d}  loss {float(total) / batches:.4f}  accuracy {reached:.2%}  {seconds:.2f} s", flush=True
        )
    return reached


def main():
    parser = argparse.ArgumentParser(description="Train a 784-256-128-10 network on handwritten digits.")
    parser.add_argument("--data", type=Path, default=BUNDLED, help="full MNIST as an .npz or a folder of IDX files")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--rate", type=float, default=1e-3, help="Adam's step size")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    data = load(args.data.expanduser())
    print(f"{len(data[0]):,} training images, {len(data[2]):,} held out, on {xt.devices()[0]}")
    train(data, args.epochs, args.batch_size, args.rate, args.seed)


if __name__ == "__main__":
    main()
