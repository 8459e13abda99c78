"""Tests that take `op` run over the whole catalogue; those of a check that an entry skips are left out."""

from __future__ import annotations

from tests.catalogue.catalogue import entries_for


def pytest_generate_tests(metafunc):
    if "op" in metafunc.fixturenames:
        check, option = getattr(metafunc.function, "check", None), metafunc.config.option
        named = option.keyword or any("[" in argument for argument in metafunc.config.args)
        ops = entries_for(check, int(option.seed), bool(option.full or named))
        metafunc.parametrize("op", ops, ids=[op.name for op in ops])
