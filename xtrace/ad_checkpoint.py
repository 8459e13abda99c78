"""Saving memory in reverse mode: names of values, policies, and what a derivative keeps."""

from xtrace.api.checkpointing import (
    checkpoint,
    checkpoint_name,
    checkpoint_name_fwd,
    print_saved_residuals,
    remat,
)
from xtrace.lax.checkpoint_policies import checkpoint_policies
from xtrace.transforms.remat import name_p, remat_p
from xtrace.transforms.saving import Offloadable, Recompute, Saveable

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_name_fwd",
    "checkpoint_policies",
    "name_p",
    "print_saved_residuals",
    "remat",
    "remat_p",
]
