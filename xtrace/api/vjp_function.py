"""What `vjp` returns: a pullback that is a pytree of its residuals, among which the arguments can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes, pytree
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import DebugInfo, Jaxpr
from xtrace.core.primitive import as_array, shaped
from xtrace.transforms.linearize import Linearized, StagedLinearization
from xtrace.transforms.zeros import Zero, instantiate

_flatten = pytree.default_registry.flatten


class _Absent:
    """Stands in `args_res` for the value of an argument that the pullback doesn't hold."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class NotNeeded(_Absent):
    """The pullback doesn't read the argument."""

    __slots__ = ()


class NotSaveable(_Absent):
    """The pullback reads the argument, which `saveable_args` kept from being saved: put its value here."""

    __slots__ = ()


for _cls in (NotNeeded, NotSaveable):
    pytree.register_node(_cls, lambda _: ((), None), lambda _, __, cls=_cls: cls())  # type: ignore[misc]


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
        program, residuals = lin.jaxpr(DebugInfo(self.__name__, "vjp"))
        leaf_of = {k: i for i, k in reversed(list(enumerate(self._ids)))}
        sources = tuple([leaf_of.get(id(r)) for r in residuals])
        values = {id(r): r for r in residuals}
        flags = [True] * len(self._ids) if saveable is None else saveable
        leaves = [
            NotNeeded() if k not in values else values[k] if keep else NotSaveable()
            for k, keep in zip(self._ids, flags)
        ]
        self._args = list(self.in_tree.unflatten(leaves))
        self._opaque = [as_array(r) for r, i in zip(residuals, sources) if i is None]
        self._lin, self._ids = None, []
        nonzeros = tuple([type(t) is not Zero for t in lin.outs])
        self._static = _Static({}, program, nonzeros, sources)
        self._static.attributes = {k: v for k, v in vars(self).items() if k not in ("_args", "_opaque", "_static")}
        return self._static

    def _residuals(self, static: _Static) -> list[Any]:
        """The operands of the linear program: from `args_res`, and the opaque ones."""
        leaves, _ = _flatten(self._args, lambda x: x is None or isinstance(x, _Absent))
        dummy = self.in_tree.unflatten(range(self.in_tree.num_leaves))
        paths = ["args" + pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(dummy)[0]]
        if len(leaves) != len(paths):
            raise ValueError(
                f"{self.__name__}: args_res has {len(leaves)} leaves, but the arguments have {len(paths)}: give it the "
                "structure of the arguments."
            )
        missing = sorted({i for i in static.sources if i is not None and isinstance(leaves[i], NotSaveable)})
        if missing:
            raise ValueError(
                f"{self.__name__} was called before its not-saveable residuals were restored. saveable_args kept the "
                "values of these arguments from being saved; put them back by assigning to args_res first:\n"
                + "\n".join([f"  * {paths[i]}" for i in missing])
            )
        opaque = iter(self._opaque)
        out = []
        for i, var in zip(static.sources, static.program.invars):
            if i is None:
                out.append(next(opaque))
                continue
            x = leaves[i]
            got = None if x is None or isinstance(x, _Absent) else shaped(x)
            if got is None or got.shape != var.aval.shape or got.dtype != var.aval.dtype:
                raise ValueError(
                    f"{self.__name__} reads {paths[i]} from args_res: an array of type {var.aval.str_short()}, but "
                    f"there is {x!r} there"
                )
            out.append(x)
        return out

    def __call__(self, ct: Any) -> tuple[Any, ...]:
        cts, tree = _flatten(ct)
        if tree != self.out_tree:
            raise ValueError(
                f"unexpected tree structure of argument to vjp function: got {tree}, but expected to match "
                f"{self.out_tree}"
            )
        checked = [check_cotangent(c, a, i) for i, (c, a) in enumerate(zip(cts, self._out_avals))]
        lin: Linearized | StagedLinearization | None = self._lin
        if lin is None:
            static = self.separate()
            lin = StagedLinearization(static.program, self._residuals(static), static.nonzeros)
        rest = iter(lin.pull_back(checked))
        full = [
            as_array(instantiate(next(rest) if d else Zero(a.tangent())))
            for a, d in zip(self._primals, self._differentiated)
        ]
        return self.in_tree.unflatten(full)


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

__all__ = ["NotNeeded", "NotSaveable", "VJPFunction", "check_cotangent", "tree_of_flags"]
