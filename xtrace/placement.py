"""Where values lie: on concrete values a transfer, on tracers an equation."""

from __future__ import annotations

from typing import Any

from xtrace.core import pytree, pytree_prefixes
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer, current
from xtrace.runtime import layouts, transfers
from xtrace.runtime.layouts import Layout
from xtrace.runtime.mesh import get_mesh
from xtrace.runtime.partition_spec import PartitionSpec
from xtrace.runtime.shardings import NamedSharding, Sharding
from xtrace.transforms.placement import device_put_p, layout_constraint_p, sharding_constraint_p

device_put_p.impl = lambda x, *, device: transfers.device_put(x, device)
sharding_constraint_p.impl = lambda x, *, sharding: transfers.device_put(x, sharding)
layout_constraint_p.impl = lambda x, *, layout: layouts.placed(transfers.device_put(x), layout)


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Put arrays on a device.

    Args:
      x: an array, a number, or a pytree of them.
      device: a Device, a Sharding, a pytree prefix of them, or None for the default device (the result is then not
        committed to it).
      src: where they are now; accepted for compatibility. donate: whether their memory may be reused.
      may_alias: whether the result may share memory with `x`; that of a NumPy array is shared only where this is True.

    Returns:
      Arrays in the structure of `x`.

    Raises:
      TypeError: a leaf is no array. ValueError: a shape doesn't divide over the devices.

    >>> import xtrace as xt, numpy as np
    >>> xt.device_put(np.arange(3)).devices() == {xt.devices()[0]}
    True
    """
    if current.trace is None:
        return transfers.device_put(x, device, src=src, donate=donate, may_alias=may_alias)
    leaves, tree = pytree.tree_flatten(x)
    if device is None or not isinstance(device, (dict, list, tuple)):
        places = [device] * len(leaves)
    else:
        places = pytree_prefixes.flatten_prefix(device, tree, "device_put's device")
    outs = []
    for leaf, place in zip(leaves, places):
        if isinstance(leaf, Tracer):
            sharding, layout = (place.sharding, place.layout) if isinstance(place, layouts.Format) else (place, None)
            put = device_put_p.bind(leaf, device=sharding)
            outs.append(put if layout in (None, layouts.AUTO) else layout_constraint_p.bind(put, layout=layout))
        else:
            outs.append(transfers.device_put(leaf, place))
    return tree.unflatten(outs)


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Split arrays over devices in another way.

    Args:
      xs: an array, or a pytree of them.
      out_shardings: a NamedSharding or PartitionSpec (of the mesh that is set), or a pytree prefix of them.

    Returns:
      The same arrays, split so.

    Raises:
      ValueError: out_shardings is None, or a shape doesn't divide.

    >>> import xtrace as xt
    >>> mesh = xt.make_mesh((1,), ("x",))
    >>> xt.reshard(xt.numpy.ones(4), xt.NamedSharding(mesh, xt.P("x"))).sharding.spec
    P('x',)
    """
    if out_shardings is None:
        raise ValueError("reshard needs out_shardings: a NamedSharding, a PartitionSpec, or a tree of them")
    return device_put(xs, out_shardings)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Hold intermediate values of a program to shardings; outside of programs, split arrays so.

    Args:
      x: an array, or a pytree of them.
      shardings: a NamedSharding, a PartitionSpec (of the mesh that is set), or a pytree prefix of `x` of them. In
        a spec, `P.UNCONSTRAINED` leaves a dimension to the compiler.

    Returns:
      The same values. Their cotangents are held to the same shardings.

    Raises:
      RuntimeError: a PartitionSpec is given while no mesh is set.
      ValueError: a sharding is None, or has more dimensions than its array.
      TypeError: something is no sharding.

    >>> import xtrace as xt
    >>> mesh = xt.make_mesh((1,), ("x",))
    >>> f = xt.jit(lambda x: 2 * xt.lax.with_sharding_constraint(x, xt.NamedSharding(mesh, xt.P("x"))))
    >>> print(f(xt.numpy.ones(4)))
    [2. 2. 2. 2.]
    """
    leaves, tree = pytree.tree_flatten(x)
    places = pytree_prefixes.flatten_prefix(shardings, tree, "with_sharding_constraint's shardings")
    outs = []
    for i, (leaf, place) in enumerate(zip(leaves, places)):
        sharding = _constraint(place)
        ndim = shaped(leaf).ndim
        if len(getattr(sharding, "spec", ())) > ndim:
            path = pytree.keystr(pytree.tree_flatten_with_path(x)[0][i][0])
            raise ValueError(
                f"with_sharding_constraint: x{path} has type {shaped(leaf).str_short()}, of {ndim} dimensions, but "
                f"its sharding is for at least {len(sharding.spec)}: {sharding}"
            )
        outs.append(sharding_constraint_p.bind(leaf, sharding=sharding))
    return tree.unflatten(outs)


def result_sharding(name: str, out_sharding: Any, aval: Any) -> Any:
    """The sharding that `out_sharding`, an argument of the function `name`, asks of a result of type `aval`."""
    if isinstance(out_sharding, PartitionSpec):
        mesh = get_mesh()
        if mesh.empty:
            raise ValueError(
                f"{name}: out_sharding is {out_sharding} while no mesh is set: enter one with `with set_mesh(mesh):`, "
                "or give a NamedSharding, which has its own"
            )
        out_sharding = NamedSharding(mesh, out_sharding)
    if not isinstance(out_sharding, NamedSharding):
        raise TypeError(
            f"`out_sharding` argument of {name} is a NamedSharding or PartitionSpec. "
            f"Got {out_sharding!r} of type: {type(out_sharding)}"
        )
    if len(out_sharding.spec) > aval.ndim:
        raise ValueError(
            f"{name}: the result has type {aval.str_short()}, of {aval.ndim} dimensions, but its out_sharding is for "
            f"at least {len(out_sharding.spec)}: {out_sharding.spec}"
        )
    return out_sharding


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Hold intermediate values of a program to layouts; outside of programs, copy arrays so.

    Args:
      x: an array, or a pytree of them.
      layouts: a Layout, or a pytree prefix of `x` of them.

    Returns:
      The same values. Their cotangents are held to the same layouts.

    Raises:
      ValueError: something is no Layout, or a layout is of other axes than its array.

    >>> import xtrace as xt
    >>> from xtrace.experimental.layout import Layout
    >>> f = xt.jit(lambda x: with_layout_constraint(2 * x, Layout((1, 0))))
    >>> "LayoutConstraint" in f.lower(xt.numpy.ones((2, 3))).as_text()
    True
    """
    leaves, tree = pytree.tree_flatten(x)
    outs = []
    for leaf, layout in zip(leaves, pytree_prefixes.flatten_prefix(layouts, tree, "with_layout_constraint's layouts")):
        if not isinstance(layout, Layout):
            raise ValueError(f"with_layout_constraint takes Layouts, such as Layout((1, 0)); got {layout!r}")
        layout.check_compatible_aval(shaped(leaf).shape)
        outs.append(layout_constraint_p.bind(leaf, layout=layout))
    return tree.unflatten(outs)


def _constraint(place: Any) -> Any:
    if isinstance(place, PartitionSpec):
        mesh = get_mesh()
        if mesh.empty:
            raise RuntimeError(
                f"with_sharding_constraint was given {place} while no mesh is set: enter one with "
                "`with set_mesh(mesh):`, or give a NamedSharding, which has its own"
            )
        return NamedSharding(mesh, place)
    if place is None:
        raise ValueError(
            "with_sharding_constraint was given None for a sharding: give a NamedSharding or PartitionSpec"
        )
    if not isinstance(place, Sharding):
        raise TypeError(f"with_sharding_constraint takes NamedShardings and PartitionSpecs; got {place!r}")
    return place
