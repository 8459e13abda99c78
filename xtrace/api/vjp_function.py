"""What `vjp` returns: a pullback that is a pytree of its residuals, among which the arguments can be told apart."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes, pytree, pytree_prefixes
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import DebugInfo, Jaxpr
from xtrace.core.primitive import as_array, shaped
from xtrace.transforms import logs
from xtrace.transforms.linearize import Linearized, StagedLinearization
from xtrace.transforms.zeros import Zero, instantiate

_flatten = pytree.default_registry.flatten


class _Sentinel:
    """A value that only says what it is: equal to others of its class."""

    __slots__ = ()
    fingerprint_fields = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class NotNeeded(_Sentinel):
    """Stands in `args_res` for an argument that the backward pass doesn't read."""

    __slots__ = ()


class NotSaveable(_Sentinel):
    """Stands in `args_res` for an argument that the backward pass reads and that wasn't to be saved."""

    __slots__ = ()


class GradValue(_Sentinel):
    """An entry of `with_refs`: return this gradient."""

    __slots__ = ()


class DontWant(_Sentinel):
    """An entry of `with_refs`: don't compute this gradient."""

    __slots__ = ()


class GradRef(_Sentinel):
    """Stands for a gradient that was added to a reference."""

    __slots__ = ()


class DidntWant(_Sentinel):
    """Stands for a gradient that wasn't computed."""

    __slots__ = ()


# Results of compiled functions may hold these; the entries of with_refs are leaves.
for _sentinel in (NotNeeded, NotSaveable, GradRef, DidntWant):
    pytree.register_node(_sentinel, lambda x: ((), type(x)), lambda kind, _: kind())


_ABSENT = (NotNeeded, NotSaveable)


def tree_of_flags(flags: Any, tree: Any, option: str, path: str = "") -> list[bool]:
    """A flag for each leaf of a structure, from a bool or nested tuples of bools: a prefix, whatever the containers."""
    if isinstance(flags, bool):
        return [flags] * tree.num_leaves
    if not isinstance(flags, tuple):
        raise ValueError(
            f"{option} must be a tuple-tree of bools, made of bools and tuples only, but {option}{path} is {flags!r} "
            f"of type {type(flags).__name__}"
        )
    if tree.node_data() is None:
        raise ValueError(
            f"{option}{path} is a tuple, but the value there is a leaf, not a container: give it a single bool"
        )
    parts = tree.children()
    if len(flags) != len(parts):
        raise ValueError(
            f"{option}{path} has {len(flags)} elements, but the container it stands for has another number of "
            f"children: {len(parts)}. Give one bool or tuple for each."
        )
    return [f for i, (g, t) in enumerate(zip(flags, parts)) for f in tree_of_flags(g, t, option, f"{path}[{i}]")]


def check_cotangent(ct: Any, aval: ShapedArray, i: int) -> Any:
    """The cotangent of output `i`, of type `aval`. Raises ValueError where it doesn't fit."""
    wanted = aval.tangent()
    if wanted.dtype == dtypes.float0:
        return Zero(wanted)
    got = shaped(ct)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise ValueError(
            f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function: got {got.str_short()}, but expected "
            f"{wanted.str_short()} because the corresponding output {i} of the function had type {aval.str_short()}"
        )
    return ct


class VJPFunction:
    """The pullback of a function at a point: maps a cotangent of the output to cotangents of the inputs.

    A pytree of its residuals, so that compiled functions can return it and take it. Residuals that are arguments as
    they were given are in `args_res`, a list of the arguments, with `NotNeeded()` where a leaf is not among them; the
    others in `opaque_residuals`. `args_res` may be changed before the pullback is called: it goes by what is there.
    """

    _static: _Static | None = None
    _args: list[Any]
    _opaque: list[Any]
    #: Leaves of the arguments that are references, and types of their last values, outputs after the function's own.
    _ref_args: tuple[int, ...] = ()
    _last_avals: tuple[ShapedArray, ...] = ()

    def __init__(
        self,
        primals: list[Any],
        differentiated: list[bool],
        lin: Linearized,
        in_tree: Any,
        out_tree: Any,
        outs: list[Any],
        name: str,
    ) -> None:
        self._lin: Linearized | None = lin
        # The tape holds the arguments that are residuals, so that none of these can become another object's.
        self._ids = [id(p) for p in primals]
        self._primals, self._differentiated = [shaped(p) for p in primals], differentiated
        self.in_tree, self.out_tree = in_tree, out_tree
        self._out_avals = [shaped(o) for o in outs]
        #: The entries of with_refs, one for each leaf of the arguments.
        self._entries: tuple[Any, ...] | None = None
        self._function_name = name
        self.__name__ = f"vjp of {name}"

    @property
    def args_res(self) -> list[Any]:
        self.separate()
        return self._args

    @args_res.setter
    def args_res(self, args: Sequence[Any]) -> None:
        self.separate()
        self._args = list(args)

    @property
    def opaque_residuals(self) -> list[Any]:
        self.separate()
        return self._opaque

    @opaque_residuals.setter
    def opaque_residuals(self, values: Sequence[Any]) -> None:
        self.separate()
        self._opaque = list(values)

    @property
    def out_nzs(self) -> Any:
        """Which outputs depend on the inputs: a tree of bools like the output, in which other containers are tuples."""
        lin = self._lin
        nonzeros = [type(t) is not Zero for t in lin.outs] if lin is not None else self.separate().nonzeros
        return pytree_prefixes.mirror(self.out_tree, iter(nonzeros))

    @property
    def jaxpr(self) -> Jaxpr:
        """(residuals, input tangents) -> nonzero out tangents."""
        return self.separate().program

    def separate(self, saveable: Sequence[bool] | None = None) -> _Static:
        """Take the linear program off its tape, and the arguments out of the residuals; the rest of it is returned.

        saveable: for each leaf of the arguments, whether its value may be kept.
        """
        if self._static is not None:
            return self._static
        lin = self._lin
        assert lin is not None
        program, residuals = lin.jaxpr(DebugInfo(self.__name__, "vjp"), frozenset(self._ids))
        leaf_of = {k: i for i, k in reversed(list(enumerate(self._ids)))}
        sources = tuple([leaf_of.get(id(r)) for r in residuals])
        values = {id(r): r for r in residuals}
        flags = [True] * len(self._ids) if saveable is None else saveable
        leaves = [
            NotNeeded() if k not in values else as_array(values[k]) if keep else NotSaveable()
            for k, keep in zip(self._ids, flags)
        ]
        self._args = list(pytree_prefixes.mirror(self.in_tree, iter(leaves)))
        self._opaque = [as_array(r) for r, i in zip(residuals, sources) if i is None]
        self._lin, self._ids = None, []
        nonzeros = tuple([type(t) is not Zero for t in lin.outs])
        self._static = _Static({}, program, nonzeros, sources)
        self._static.attributes = {k: v for k, v in vars(self).items() if k not in ("_args", "_opaque", "_static")}
        return self._static

    def replace(self, **changes: Any) -> VJPFunction:
        """A copy with other `args_res` or `opaque_residuals`."""
        self.separate()
        other = copy.copy(self)
        for name, value in changes.items():
            if name not in ("args_res", "opaque_residuals"):
                raise TypeError(f"replace takes args_res and opaque_residuals, got {name}")
            setattr(other, name, value)
        return other

    def with_refs(self, *entries: Any) -> VJPFunction:
        """A pullback that adds gradients to references, or leaves some out.

        Args:
          entries: like the arguments of the function, with an entry for each array: a reference, which its gradient is
            added to; `xtrace.ad.DontWant()`, it isn't computed; `xtrace.ad.GradValue()` or any other object, the
            gradient is returned.

        Returns:
          A pullback that returns `xtrace.ad.GradRef()` or `xtrace.ad.DidntWant()` in place of what it doesn't return.

        Raises:
          ValueError: entries that don't have the structure of the arguments, or a reference of another type.

        >>> import xtrace as xt
        >>> _, pull = xt.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> pull.with_refs(xt.ad.DontWant(), xt.ad.GradValue())(1.0)[0]
        DidntWant()
        """
        leaves, tree = _flatten(entries)
        if tree != self.in_tree:
            from xtrace.core import pytree_errors

            found = pytree_errors.differences(entries, self.in_tree, None)
            places = "".join(["\n  " + d.sentence("with_refs", "the arguments") for d in found])
            raise ValueError(
                f"with_refs takes an entry for each array among the arguments of {self._function_name}: a reference, "
                "GradValue() or DontWant() of xtrace.ad (None is no entry, but an empty tree). But the tree structures "
                f"differ:{places or f' got {tree}, expected {self.in_tree}'}"
            )
        for i, (entry, aval, d) in enumerate(zip(leaves, self._primals, self._differentiated)):
            held = getattr(entry, "inner_aval", None)
            if held is None:
                continue
            wanted = aval.tangent()
            if d and (held.shape, held.dtype) != (wanted.shape, wanted.dtype):
                raise ValueError(
                    f"the gradient of leaf {i} of the arguments requires a ref of type {wanted.str_short()}, "
                    f"got one of type {held.str_short()}"
                )
        other = copy.copy(self)
        other._entries = tuple(
            [
                e if isinstance(e, DontWant) or getattr(e, "inner_aval", None) is not None else GradValue()
                for e in leaves
            ]
        )
        if (static := other._static) is not None:
            attributes = {**static.attributes, "_entries": other._entries}
            other._static = _Static(attributes, static.program, static.nonzeros, static.sources)
        return other

    def _residuals(self, static: _Static) -> list[Any]:
        """The operands of the linear program: from `args_res`, and the opaque ones."""
        leaves = self._leaves_of_args()
        missing = sorted({i for i in static.sources if i is not None and isinstance(leaves[i], NotSaveable)})
        if missing:
            raise ValueError(
                f"{self.__name__} was called before its not-saveable residuals were restored. saveable_args kept the "
                "values of these arguments from being saved; put them back by assigning to args_res first:\n"
                + "\n".join([f"  * {self._path(i)}" for i in missing])
            )
        opaque = iter(self._opaque)
        out = []
        for i, var in zip(static.sources, static.program.invars):
            if i is None:
                out.append(next(opaque))
                continue
            x = leaves[i]
            got = None if x is None or isinstance(x, _ABSENT) else shaped(x)
            if got is None or got.shape != var.aval.shape or got.dtype != var.aval.dtype:
                raise ValueError(
                    f"{self.__name__} reads {self._path(i)} from args_res: an array of type {var.aval.str_short()}, "
                    f"but there is {x!r} there"
                )
            out.append(x)
        return out

    def _path(self, i: int) -> str:
        """Where leaf `i` is among the arguments."""
        places = pytree_prefixes.mirror(self.in_tree, iter(range(self.in_tree.num_leaves)))
        return "args" + pytree.keystr(pytree.tree_flatten_with_path(places)[0][i][0])

    def _leaves_of_args(self) -> list[Any]:
        """The leaves of `args_res`, in the places of those of the arguments. None may stand for a whole argument."""
        trees = self.in_tree.children()
        if len(self._args) != len(trees):
            raise ValueError(
                f"{self.__name__}: args_res must have an entry for each of the {len(trees)} arguments, got "
                f"{len(self._args)}"
            )
        leaves: list[Any] = []
        for i, (value, tree) in enumerate(zip(self._args, trees)):
            if value is None:
                leaves += [None] * tree.num_leaves
                continue
            found, _ = _flatten(value, lambda x: isinstance(x, _ABSENT))
            if len(found) != tree.num_leaves:
                raise ValueError(
                    f"{self.__name__}: args_res[{i}] has {len(found)} leaves, but argument {i} has {tree.num_leaves}: "
                    "give it the structure of the argument."
                )
            leaves += found
        return leaves

    def __call__(self, ct: Any, *more: Any) -> Any:
        if more:
            raise TypeError(
                f"The function returned by `vjp` applied to {self._function_name} was called with {1 + len(more)} "
                "arguments, but functions returned by `vjp` must be called with a single argument: the cotangent of "
                "the output. If the output is a tuple, pass one tuple: pull((a, b)) in place of pull(a, b)."
            )
        with logs.into(None):
            return self._pull_back(ct)

    def with_logs(self, ct: Any) -> tuple[Any, dict[Any, Any]]:
        """As a call, with what the reverse rules log: (cotangents, logs). See custom_vjp.defvjp_with_logs."""
        sink: dict[Any, Any] = {}
        with logs.into(sink):
            return self._pull_back(ct), sink

    def _pull_back(self, ct: Any) -> Any:
        cts, tree = _flatten(ct)
        if tree != self.out_tree:
            raise ValueError(
                f"unexpected tree structure of argument to vjp function: got {tree}, but expected to match "
                f"{self.out_tree}"
            )
        checked = [check_cotangent(c, a, i) for i, (c, a) in enumerate(zip(cts, self._out_avals))]
        entries = self._entries
        if self._ref_args:
            self._check_ref_entries(entries)
            checked += [Zero(a.tangent()) for a in self._last_avals]
        if entries is not None:
            return self._pull_to(checked, entries)
        lin = self._lin
        rest = iter(lin.pull_back(checked) if lin is not None else self._staged().pull_back(checked))
        full = [
            as_array(instantiate(next(rest) if d else Zero(a.tangent())))
            for a, d in zip(self._primals, self._differentiated)
        ]
        return self.in_tree.unflatten(full)

    def _check_ref_entries(self, entries: tuple[Any, ...] | None) -> None:
        """Raise ValueError unless gradients of arguments that are references have references to go to."""
        for i in self._ref_args:
            if entries is None or isinstance(entries[i], GradValue):
                raise ValueError(
                    f"the argument at {self._path(i)} of the differentiated function {self._function_name} is "
                    "Ref-typed, so its gradient must be accumulated into a ref, but no gradient ref was provided. "
                    "Bind one using the VJP function's `with_refs` method before applying it, as in "
                    "`f_vjp.with_refs(grad_ref)(ct)`, or pass `jax.ad.DontWant()` in its place."
                )

    def _staged(self) -> StagedLinearization:
        """The linear program with the residuals as they are now."""
        static = self.separate()
        return StagedLinearization(static.program, self._residuals(static), static.nonzeros)

    def _pull_to(self, cts: list[Any], entries: tuple[Any, ...]) -> Any:
        """Send each gradient where its entry says."""
        wanted = [not isinstance(e, DontWant) for e in entries]
        rest = iter(self._staged().pull_back(cts, [w for w, d in zip(wanted, self._differentiated) if d]))
        results: list[Any] = []
        for aval, d, w, entry in zip(self._primals, self._differentiated, wanted, entries):
            if not w:
                results.append(DidntWant())
                continue
            gradient = next(rest) if d else Zero(aval.tangent())
            if isinstance(entry, GradValue):
                results.append(as_array(instantiate(gradient)))
                continue
            if type(gradient) is not Zero:
                entry[...] = entry[...] + gradient
            results.append(GradRef())
        return self.in_tree.unflatten(results)


def distinct(x: Any) -> Any:
    """A number as an object of its own, so that it can be told from equal constants; anything else as it is."""
    kind = type(x)
    if kind is float:
        return x * 1.0  # arithmetic makes a new object
    return complex(x.real, x.imag) if kind is complex else x


class _Static:
    """What a VJPFunction is beside its residuals. Identity is equality."""

    __slots__ = ("attributes", "program", "nonzeros", "sources")

    def __init__(
        self, attributes: dict[str, Any], program: Jaxpr, nonzeros: tuple[bool, ...], sources: tuple[int | None, ...]
    ) -> None:
        self.attributes = attributes
        self.program = program
        self.nonzeros = nonzeros
        #: For each residual, the leaf of the arguments that it is, or None.
        self.sources = sources


def _flatten_vjp(pull: VJPFunction) -> tuple[tuple[Any, ...], _Static]:
    static = pull.separate()
    return (pull._args, pull._opaque), static


def _unflatten_vjp(static: _Static, children: Any) -> VJPFunction:
    pull = object.__new__(VJPFunction)
    vars(pull).update(static.attributes)
    pull._static = static
    pull._args, pull._opaque = children
    return pull


pytree.register_node(VJPFunction, _flatten_vjp, _unflatten_vjp)

__all__ = [
    "DidntWant", "DontWant", "GradRef", "GradValue", "NotNeeded", "NotSaveable", "VJPFunction", "check_cotangent",
    "distinct", "tree_of_flags",
]  # fmt: skip
