"""Passes: functions from jaxpr to jaxpr, run on a whole program, derivatives and all, just before it is lowered.

`TABLE` lists them in the order in which they run; `selected` says which run in a program. A pass is the function `run`
of the module of its name in this package, loaded when it is first needed: see `pipeline`. This module holds plain data,
for it is loaded with xtrace itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xtrace.core import config


class Pass(NamedTuple):
    """A row of the table: the pass, what it does in a line, and the platforms where it is on by default."""

    name: str
    help: str
    platforms: tuple[str, ...]


_EVERYWHERE = ("cpu", "cuda", "rocm", "tpu")

TABLE = (
    Pass("inline", "calls are written out, so that the other passes see the program whole", _EVERYWHERE),
    Pass("dead_code", "what no result needs is left out, in the bodies of loops and branches too", _EVERYWHERE),
    Pass("common_subexpressions", "what is computed twice is computed once", _EVERYWHERE),
    Pass("padded_sums", "sums of arrays that are zero but for a part each become concatenations", _EVERYWHERE),
    Pass("reroll", "steps that were written out one after the other become loops again", ()),
    Pass("transposed_products", "operands of products that are only read transposed are exchanged", ("cpu",)),
    Pass("constants", "numbers that differ between blocks that are alike are kept out of their kernels", ("cpu",)),
    Pass("stacked_slices", "slices of one array begin at places that are kept out of their kernels", ("cpu",)),
    Pass("fusion_barriers", "values that fusion would compute again in many kernels are computed once", ("cpu",)),
)

#: What a program may be given: None (by the flag `passes`), "all", or names and other words of the flag.
Selection = str | Sequence[str] | None

_selected: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = {}


def words(selection: Selection, of: str = "passes") -> tuple[str, ...] | None:
    """A selection as a tuple of known words. Raises ValueError or TypeError, calling it `of`, where it is none."""
    if selection is None:
        return None
    if isinstance(selection, str):
        selection = [word.strip() for word in selection.split(",") if word.strip()]
    elif not isinstance(selection, Sequence):
        raise TypeError(f"{of} must be None, names in a tuple, or 'all'; got {selection!r}")
    known = [p.name for p in TABLE]
    for word in selection:
        if not isinstance(word, str):
            raise TypeError(f"{of} must be names of passes; got {word!r}")
        if word not in ("all", "default", "none") and word.lstrip("+-") not in known:
            raise ValueError(
                f"{of}: there is no pass {word!r}. The passes are {', '.join(known)}; 'default', 'all' and 'none' "
                "stand for several, -NAME leaves one out, +NAME adds one."
            )
    return tuple(selection)


def selected(given: tuple[str, ...] | None, platforms: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the passes that run, in order. given: `words` of what jit was given; None: the flag decides."""
    if given is None:
        given = words(config.passes.value) or ("default",)
    key = (given, platforms)
    found = _selected.get(key)
    if found is None:
        on: set[str] = set()
        if given and given[0].startswith(("-", "+")):
            given = ("default", *given)
        for word in given:
            if word == "none":
                on.clear()
            elif word == "all":
                on.update([p.name for p in TABLE])
            elif word == "default":
                on.update([p.name for p in TABLE if set(platforms) <= set(p.platforms)])
            elif word.startswith("-"):
                on.discard(word[1:])
            else:
                on.add(word.removeprefix("+"))
        found = _selected[key] = tuple([p.name for p in TABLE if p.name in on])
    return found


config.passes.validate = lambda value: words(value, "config flag 'passes'")
config.passes.validate(config.passes.value)

__all__ = ["Pass", "Selection", "TABLE", "selected", "words"]
