"""Every jaxpr that a test makes is checked against the language's specification."""

from __future__ import annotations

import pytest

from xtrace.core import config


@pytest.fixture(autouse=True)
def checked_jaxprs():
    with config.check_jaxprs(True):
        yield
