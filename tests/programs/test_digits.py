"""A network learns to read handwritten digits; compiled, it does so faster."""

import re
import time

import numpy as np
import pytest

import xtrace as xt
from tests.programs import digits


@pytest.fixture(scope="module")
def data():
    return digits.load()


def test_the_network_learns(data):
    images, labels, test_images, test_labels = data
    params = digits.init(xt.random.PRNGKey(0))
    adam = digits.init_adam(params)
    step, accuracy = xt.jit(digits.step), xt.jit(digits.accuracy)
    order_key = xt.random.PRNGKey(1)
    for epoch in range(5):
        order = np.asarray(xt.random.permutation(xt.random.fold_in(order_key, epoch), len(images)))
        losses = []
        for start in range(0, len(images) - 127, 128):
            chosen = order[start : start + 128]
            params, adam, value = step(params, adam, images[chosen], labels[chosen])
            losses.append(value)
    assert float(losses[-1]) < 0.2
    assert int(adam["step"]) == 5 * 70
    # About 95 % after ten epochs; five take half the time.
    assert float(accuracy(params, test_images, test_labels)) > 0.93


def test_compiled_and_not(data, capsys):
    images, labels = data[0][:128], data[1][:128]

    def train(steps, step):
        params = digits.init(xt.random.PRNGKey(0))
        adam = digits.init_adam(params)
        start = time.perf_counter()
        for _ in range(steps):
            params, adam, value = step(params, adam, images, labels)
        value.block_until_ready()
        return float(value), time.perf_counter() - start

    compiled_step = xt.jit(digits.step)
    train(1, compiled_step)
    compiled, fast = train(100, compiled_step)
    with xt.disable_jit():
        plain, slow = train(3, digits.step)
    assert plain == pytest.approx(train(3, compiled_step)[0], rel=1e-4)
    assert compiled < plain
    print(f"speed-up {slow / 3 / (fast / 100):.1f}")
    assert re.fullmatch(r"speed-up \d+\.\d\n", capsys.readouterr().out)
