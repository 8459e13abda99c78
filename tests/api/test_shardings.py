"""jit over several devices: where arguments and results lie. Runs in a process of its own with four CPU devices."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import numpy as np
import xtrace as xt, xtrace.numpy as xnp
from xtrace.sharding import NamedSharding, PartitionSpec as P, SingleDeviceSharding

mesh = xt.make_mesh((4,), ("x",))
split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
x = np.arange(8, dtype=np.float32)

y = xt.jit(lambda x: 2 * x, in_shardings=split, out_shardings=split)(x)
assert y.sharding == split and y.addressable_shards[1].data.shape == (2,), y.sharding
np.testing.assert_array_equal(y, 2 * x)

f = xt.jit(
    lambda p: {"a": p["a"] + 1, "b": p["b"].sum()},
    in_shardings=({"a": split, "b": None},),
    out_shardings={"a": whole, "b": None},
)
for _ in range(2):
    out = f({"a": x, "b": x})
    assert out["a"].sharding.is_fully_replicated and float(out["b"]) == 28.0
assert 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>' in f.lower({"a": x, "b": x}).as_text()

z = xt.device_put(x, split)
for g in (lambda z: z + 1, xt.jit(lambda z: xnp.sin(z) * 2)):
    assert g(z).sharding == split, g(z).sharding
assert float(z.sum()) == 28.0
assert xt.jit(lambda x: x + 1, out_shardings=SingleDeviceSharding(xt.devices()[2]))(x).devices() == {xt.devices()[2]}

with xt.default_device(xt.devices()[3]):
    assert xnp.zeros(3).devices() == xt.jit(lambda: xnp.ones(2))().devices() == {xt.devices()[3]}
assert xnp.zeros(3).devices() == {xt.devices()[0]}

a, b = (xt.device_put(x, d) for d in xt.devices()[:2])
try:
    a + b
except ValueError as error:
    assert "incompatible devices" in str(error) and "argument 0 of type f32[8]" in str(error), error
else:
    raise AssertionError("arrays on two devices were added")
try:
    xt.jit(lambda x: x, in_shardings=(split, split))(x)
except ValueError as error:
    assert "in_shardings" in str(error), error
print("done")
"""


def test_four_devices():
    environment = {**os.environ, "XTRACE_NUM_CPU_DEVICES": "4", "XTRACE_PLATFORMS": "cpu"}
    result = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout == "done\n", result.stderr
