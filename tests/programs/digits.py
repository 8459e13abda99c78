"""The course's network on handwritten digits: data, initialisation, loss, Adam, training. Used by several tests."""

import pathlib

import numpy as np

import xtrace as xt
import xtrace.numpy as xnp

DATA = pathlib.Path(__file__).parents[2] / "examples" / "data" / "mnist_10k.npz"
SIZES = (784, 256, 128, 10)


def load():
    """9,000 training images (n, 784) in 0..1 with labels, and 1,000 for testing."""
    with np.load(DATA) as data:
        images = data["images"].reshape(-1, 784).astype(np.float32) / 255
        labels = data["labels"].astype(np.int32)
    return images[:9000], labels[:9000], images[9000:], labels[9000:]


def init(key):
    """He initialisation from three keys."""
    params = []
    for k, rows, columns in zip(xt.random.split(key, 3), SIZES[:-1], SIZES[1:], strict=True):
        scale = xnp.sqrt(2.0 / rows)
        params.append({"weight": xt.random.normal(k, (rows, columns)) * scale, "bias": xnp.zeros(columns)})
    return params


def log_probabilities(params, images):
    x = images
    for layer in params[:-1]:
        x = xt.nn.relu(x @ layer["weight"] + layer["bias"])
    return xt.nn.log_softmax(x @ params[-1]["weight"] + params[-1]["bias"])


def loss(params, images, labels):
    """Cross-entropy, averaged over the images."""
    return -xnp.mean(xnp.sum(log_probabilities(params, images) * xt.nn.one_hot(labels, 10), axis=-1))


def accuracy(params, images, labels):
    return xnp.mean(xnp.argmax(log_probabilities(params, images), axis=-1) == labels)


def init_adam(params):
    return {
        "step": xnp.zeros((), int),
        "mean": xt.tree.map(xnp.zeros_like, params),
        "square": xt.tree.map(xnp.zeros_like, params),
    }


def step(params, adam, images, labels, rate=1e-3):
    """One step of Adam (Kingma and Ba, 2015)."""
    value, grads = xt.value_and_grad(loss)(params, images, labels)
    count = adam["step"] + 1
    mean = xt.tree.map(lambda m, g: 0.9 * m + 0.1 * g, adam["mean"], grads)
    square = xt.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, adam["square"], grads)

    def moved(p, m, v):
        return p - rate * (m / (1 - 0.9**count)) / (xnp.sqrt(v / (1 - 0.999**count)) + 1e-8)

    return xt.tree.map(moved, params, mean, square), {"step": count, "mean": mean, "square": square}, value
