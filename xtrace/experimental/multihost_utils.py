"""Values among the processes of a program (jax.experimental.multihost_utils). Here a program is one process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from xtrace.core import pytree
from xtrace.core.pytree_prefixes import flatten_prefix
from xtrace.placement import device_put
from xtrace.runtime.backends import process_index
from xtrace.runtime.jaxlib_api import ArrayImpl, NamedSharding


class ProcessFailureError(Exception):
    """A process whose devices are in use has ended."""

    def __init__(self, failed_devices: set[Any]) -> None:
        self.failed_devices = failed_devices
        super().__init__(f"Devices failed: {failed_devices}")


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Gather what each process has.

    Args:
      in_tree: tree of arrays, of the same shapes in each process.
      tiled: whether the processes' arrays are joined along their first dimension, and not along a new one.

    Returns:
      The tree with NumPy arrays.

    >>> import numpy as np
    >>> from xtrace.experimental import multihost_utils
    >>> multihost_utils.process_allgather(np.arange(3)).shape
    (1, 3)
    """

    def gather(x: Any) -> np.ndarray:
        return np.asarray(x) if tiled else np.asarray(x)[None]

    return pytree.tree_map(gather, in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Give each process what one has.

    Args:
      in_tree: tree of arrays, of the same shapes in each process.
      is_source: whether this process is the one; by default process 0 is.

    Returns:
      The tree with NumPy arrays.

    >>> from xtrace.experimental import multihost_utils
    >>> multihost_utils.broadcast_one_to_all(3)
    array(3)
    """
    return pytree.tree_map(np.asarray, in_tree)


def sync_global_devices(name: str) -> None:
    """Wait until each process has come here. There is no other to wait for.

    Args:
      name: of the place, the same in each process.

    >>> from xtrace.experimental import multihost_utils
    >>> multihost_utils.sync_global_devices("loaded")
    """


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that each process has the same values.

    Args:
      in_tree: tree of arrays.
      fail_message: what the error begins with.

    Raises:
      AssertionError: a value is none that equals itself, such as NaN.

    >>> from xtrace.experimental import multihost_utils
    >>> multihost_utils.assert_equal({"step": 3}, "steps differ")
    """
    for path, x in pytree.tree_flatten_with_path(in_tree)[0]:
        x = np.asarray(x)
        if not np.all(np.equal(x, x)):
            raise AssertionError(f"{fail_message}. The value{pytree.keystr(path)} has NaN, which equals nothing: {x}.")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether all processes should save their state after this step, as one of them is about to be ended.

    No service that would tell runs for a single process: it is False.

    >>> from xtrace.experimental import multihost_utils
    >>> multihost_utils.reached_preemption_sync_point(3)
    False
    """
    return False


@contextlib.contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[set[Any]]:
    """The devices whose processes are running: those of this one.

    >>> import xtrace as xt
    >>> from xtrace.experimental import multihost_utils
    >>> with multihost_utils.live_devices(xt.devices()) as devices:
    ...     len(devices) == len(xt.devices())
    True
    """
    live = {d for d in devices if d.process_index == process_index()}
    if not live:
        raise ValueError(f"live_devices needs devices of this process among those it is given, got {list(devices)}")
    yield live


def _spread(name: str, tree: Any, mesh: Any, pspecs: Any, *, kept: bool) -> Any:
    """The leaves of a tree laid out over a mesh; arrays are left as they are if `kept`."""
    leaves, structure = pytree.tree_flatten(tree)
    specs = flatten_prefix(pspecs, structure, f"{name} pspecs")
    if None in specs:
        raise ValueError(f"{name}: pspecs holds None; write PartitionSpec() for what each device has a copy of")
    out = [
        x if kept and isinstance(x, ArrayImpl) else device_put(x, NamedSharding(mesh, spec))
        for x, spec in zip(leaves, specs)
    ]
    return pytree.tree_unflatten(structure, out)


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Arrays laid out over a mesh, made of the parts that each process has.

    Args:
      local_inputs: tree of arrays, this process's parts: with one process, all there is.
      global_mesh: Mesh of all devices.
      pspecs: PartitionSpec of the whole arrays, or a tree of them that is a prefix of `local_inputs`.

    Returns:
      The tree with arrays of those shardings.

    Raises:
      ValueError: None among the specs.

    >>> import numpy as np, xtrace as xt
    >>> from xtrace.experimental import multihost_utils
    >>> mesh = xt.make_mesh((1,), ("x",))
    >>> multihost_utils.host_local_array_to_global_array(np.arange(4), mesh, xt.P("x")).sharding.spec
    P('x',)
    """
    return _spread("host_local_array_to_global_array", local_inputs, global_mesh, pspecs, kept=False)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The parts that this process has of arrays laid out over a mesh: with one process, the arrays themselves.

    Args:
      global_inputs: tree of arrays.
      global_mesh: Mesh of all devices.
      pspecs: PartitionSpec of the whole arrays, or a tree of them that is a prefix of `global_inputs`.

    Returns:
      The tree with arrays.

    Raises:
      ValueError: None among the specs.

    >>> import numpy as np, xtrace as xt
    >>> from xtrace.experimental import multihost_utils
    >>> mesh = xt.make_mesh((1,), ("x",))
    >>> multihost_utils.global_array_to_host_local_array(xt.numpy.arange(2), mesh, xt.P("x")).tolist()
    [0, 1]
    """
    return _spread("global_array_to_host_local_array", global_inputs, global_mesh, pspecs, kept=True)


__all__ = [
    "ProcessFailureError",
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]
