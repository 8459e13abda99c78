"""Flags as public context managers."""

import pytest

import xtrace as xt
from xtrace.api import flags


@pytest.mark.parametrize("name", flags.__all__)
def test_public_names(name):
    assert getattr(xt, name) is getattr(flags, name)
    assert name in dir(xt)


@pytest.mark.parametrize(
    ("enter", "option"),
    [
        (lambda: xt.enable_x64(), "jax_enable_x64"),
        (lambda: xt.disable_jit(), "jax_disable_jit"),
        (lambda: xt.checking_leaks(), "jax_check_tracer_leaks"),
        (lambda: xt.enable_checks(True), "jax_enable_checks"),
        (lambda: xt.debug_nans(True), "jax_debug_nans"),
        (lambda: xt.explain_cache_misses(), "jax_explain_cache_misses"),
    ],
)
def test_blocks(enter, option):
    before = xt.config.read(option)
    with enter():
        assert xt.config.read(option) is True
    assert xt.config.read(option) is before
    with xt.disable_jit(disable=False):
        assert xt.config.jax_disable_jit is False
