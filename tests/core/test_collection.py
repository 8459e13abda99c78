"""Garbage collection is rarer while tracing, and as the user set it afterwards."""

import gc

import pytest

import xtrace as xt


def test_threshold_is_restored():
    before = gc.get_threshold()
    seen = []
    xt.make_jaxpr(lambda x: (seen.append(gc.get_threshold()[0]), x)[1])(1.0)
    assert seen[0] > before[0] and gc.get_threshold() == before
    with pytest.raises(ZeroDivisionError):
        xt.make_jaxpr(lambda x: 1 / 0)(1.0)
    assert gc.get_threshold() == before


def test_a_user_who_turned_collection_off_keeps_it_off():
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        seen = []
        xt.make_jaxpr(lambda x: (seen.append(gc.get_threshold()[0]), x)[1])(1.0)
        assert seen == [0]
    finally:
        gc.set_threshold(*before)
