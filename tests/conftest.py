"""Every jaxpr that a test makes is checked against the language's specification; options of sampled tests."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import random
from pathlib import Path

import hypothesis
import pytest

import xtrace
from xtrace.core import config as xtrace_config

# A busy machine draws slowly; that says nothing about the code.
hypothesis.settings.register_profile(
    "xtrace", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("xtrace")


def pytest_addoption(parser):
    group = parser.getgroup("sampling", "tests that sample a product too big to run whole")
    group.addoption("--full", action="store_true", help="run every sample")
    group.addoption("--seed", default="0", help="which samples are run: a number, or 'random' (default: 0)")
    group.addoption("--programs", type=int, default=120, help="how many random programs to check (default: 120)")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if config.option.seed == "random":  # settled before workers start: they are given the options
        config.option.seed = str(random.randrange(2**31))


def pytest_report_header(config):
    if config.option.full:
        return "samples: all of them (--full)"
    return f"samples: seed {config.option.seed} (--seed N or --seed random for others, --full for all)"


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How many samples to run: all, or those of a seed."""

    seed: int
    full: bool


@pytest.fixture
def sampling(request):
    return Sampling(int(request.config.option.seed), request.config.option.full)


#: A compiled program takes about seven memory maps, of which Linux gives a process 65,530; past that XLA crashes.
_MANY_MAPS = 40_000
_MAPS = Path("/proc/self/maps")
_tests = itertools.count(1)


@pytest.fixture(autouse=True)
def few_memory_maps():
    """Forget compiled programs before there are too many."""
    yield
    if next(_tests) % 50 == 0 and _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > _MANY_MAPS:
        xtrace.clear_caches()
        gc.collect()


@pytest.fixture(autouse=True)
def checked_jaxprs():
    with xtrace_config.check_jaxprs(True):
        yield
