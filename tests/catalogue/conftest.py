"""Tests that take `op` run over the whole catalogue; those of a check that an entry skips are left out."""

from __future__ import annotations

from tests.catalogue.catalogue import catalogue


def pytest_generate_tests(metafunc):
    if "op" in metafunc.fixturenames:
        check = getattr(metafunc.function, "check", None)
        ops = [op for op in catalogue() if check not in op.skip]
        metafunc.parametrize("op", ops, ids=[op.name for op in ops])
