"""Policies of checkpoint: functions `(primitive, *avals, **params)` that say whether a result may be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from xtrace.core.primitive import Primitive
from xtrace.transforms.remat import name_p
from xtrace.transforms.saving import Offloadable, Recompute, Saveable

Policy = Callable[..., Any]


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Everything may be saved, as if there were no checkpoint."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Nothing but the inputs is saved: what checkpoint does without a policy."""
    return False


@dataclass(frozen=True)
class _DotsSaveable:
    """Products of matrices may be saved; with `no_batch_dims`, only those without batch dimensions."""

    name: str
    no_batch_dims: bool

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        if primitive.name == "dot_general":
            return not self.no_batch_dims or _without_batch_dims(params)
        return not self.no_batch_dims and primitive.name == "conv_general_dilated"

    def __repr__(self) -> str:
        return self.name


def _without_batch_dims(params: dict[str, Any]) -> bool:
    _, (left, right) = params["dimension_numbers"]
    return not left and not right


dots_saveable = _DotsSaveable("dots_saveable", False)
dots_with_no_batch_dims_saveable = _DotsSaveable("dots_with_no_batch_dims_saveable", True)


@dataclass(frozen=True)
class OffloadDotWithNoBatchDims:
    """The policy of `offload_dot_with_no_batch_dims`."""

    offload_src: str
    offload_dst: str

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> Any:
        if primitive.name == "dot_general" and _without_batch_dims(params):
            return Offloadable(self.offload_src, self.offload_dst)
        return Recompute


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Like `dots_with_no_batch_dims_saveable`, with the products kept in another memory.

    Args:
      offload_src, offload_dst: memory kinds, such as "device" and "pinned_host".

    Example:
      >>> import xtrace as xt
      >>> policy = xt.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")
      >>> xt.checkpoint(lambda x: x @ x, policy=policy)(xt.numpy.eye(2)).shape
      (2, 2)
    """
    return OffloadDotWithNoBatchDims(offload_src, offload_dst)


@dataclass(frozen=True)
class SaveOnlyTheseNames:
    """The policy of `save_only_these_names`."""

    saveable_names: frozenset[str]

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        return primitive is name_p and params["name"] in self.saveable_names


@dataclass(frozen=True)
class SaveAnyNamesButThese:
    """The policy of `save_any_names_but_these`."""

    names: frozenset[str]

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        return primitive is name_p and params["name"] not in self.names


@dataclass(frozen=True)
class _SaveAnythingExcept:
    """The policy of `save_anything_except_these_names`."""

    names: frozenset[str]

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        return not (primitive is name_p and params["name"] in self.names)


@dataclass(frozen=True)
class SaveAndOffloadOnlyTheseNames:
    """The policy of `save_and_offload_only_these_names`."""

    names_which_can_be_saved: frozenset[str]
    names_which_can_be_offloaded: frozenset[str]
    offload_src: str
    offload_dst: str

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> Any:
        if primitive is name_p and params["name"] in self.names_which_can_be_saved:
            return Saveable
        if primitive is name_p and params["name"] in self.names_which_can_be_offloaded:
            return Offloadable(self.offload_src, self.offload_dst)
        return Recompute


@dataclass(frozen=True)
class _SaveFromBoth:
    """The policy of `save_from_both_policies`."""

    first: Policy
    second: Policy

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        answers = [policy(primitive, *avals, **params) for policy in (self.first, self.second)]
        if not all([isinstance(a, bool) for a in answers]):
            raise ValueError(
                "The return value of the policies should be a boolean. Got: "
                f"{answers[0]} and {answers[1]}. save_from_both_policies joins policies that answer True or False; "
                "write a function (primitive, *avals, **params) of your own to join others."
            )
        return any(answers)


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Anything may be saved, named or not, except what `checkpoint_name` gave one of these names."""
    return _SaveAnythingExcept(frozenset(names_not_to_save))


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Only what `checkpoint_name` named may be saved, except under these names."""
    return SaveAnyNamesButThese(frozenset(names_not_to_save))


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Only what `checkpoint_name` gave one of these names may be saved."""
    return SaveOnlyTheseNames(frozenset(names_which_can_be_saved))


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """What either policy lets be saved may be saved; both answer True or False."""
    return _SaveFromBoth(policy_1, policy_2)


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Iterable[str],
    names_which_can_be_offloaded: Iterable[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Like `save_only_these_names`, with some names kept in another memory.

    Args:
      names_which_can_be_saved, names_which_can_be_offloaded: names of `checkpoint_name`, none of them in both.
      offload_src, offload_dst: memory kinds, such as "device" and "pinned_host".

    Raises:
      ValueError: a name is in both.
    """
    saved, offloaded = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    both = saved & offloaded
    if both:
        raise ValueError(
            "The names should be exclusive and should not intersect in `names_which_can_be_saved` and "
            f"`names_which_can_be_offloaded`. Got names_which_can_be_saved={set(saved)}, "
            f"names_which_can_be_offloaded={set(offloaded)} and the intersection={set(both)}"
        )
    return SaveAndOffloadOnlyTheseNames(saved, offloaded, offload_src, offload_dst)


checkpoint_policies = SimpleNamespace(
    SaveAndOffloadOnlyTheseNames=SaveAndOffloadOnlyTheseNames,
    SaveAnyNamesButThese=SaveAnyNamesButThese,
    SaveOnlyTheseNames=SaveOnlyTheseNames,
    checkpoint_dots=dots_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    dots_saveable=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
    save_only_these_names=save_only_these_names,
)

__all__ = ["checkpoint_policies"]
