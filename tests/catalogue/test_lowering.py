"""Every operation lowers for CPU, CUDA and TPU; where a plugin is installed it compiles for absent hardware too."""

from __future__ import annotations

import random

import pytest

import xtrace as xt
from tests.catalogue.catalogue import Op, catalogue, pick
from tests.catalogue.checks import function_of, x64

PLATFORMS = {"tpu": "v5e:2x2", "cuda": "h100"}


def _lowered(op: Op, sample, platform: str):
    with x64(sample.needs_x64):
        return xt.jit(function_of(op, sample)).trace(*sample.args).lower(lowering_platforms=(platform,))


def _samples(op: Op, sampling, count: int):
    return pick(sampling.seed, sampling.full, op, "lowering", op.all_samples(sampling.seed), count)


def test_lowering(op: Op, sampling):
    for sample in _samples(op, sampling, 2):
        for platform in ("cpu", *PLATFORMS):
            assert "func.func public @main" in _lowered(op, sample, platform).as_text(), (op.name, platform)


test_lowering.check = "lowering"


def _devices(platform: str):
    from xtrace.runtime import plugins, topologies

    try:
        return topologies.compile_only_devices(platform, PLATFORMS[platform])
    except plugins.PluginError as error:
        pytest.skip(f"no {platform} plugin: {str(error).splitlines()[0]}")


def _sample_for(op: Op, platform: str, sampling):
    """One sample, without 64-bit types for TPUs: they have none."""
    fitting = [s for s in op.all_samples(sampling.seed) if platform != "tpu" or not s.needs_x64]
    return next(iter(pick(sampling.seed, False, op, platform, fitting, 1)), None)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("platform", PLATFORMS)
def test_compiles_for_absent_hardware(platform, part, sampling):
    """Eight operations to a program: a program of one takes as long to compile."""
    devices = _devices(platform)
    ops = [op for op in catalogue() if "lowering" not in op.skip][part::4]
    if not sampling.full:
        ops = random.Random(f"{sampling.seed}:{platform}:{part}").sample(ops, min(8, len(ops)))
    pairs = [(op, sample) for op in ops if (sample := _sample_for(op, platform, sampling)) is not None]
    for start in range(0, len(pairs), 8):
        _compile(pairs[start : start + 8], platform, devices)


def _compile(pairs, platform: str, devices) -> None:
    functions = [function_of(op, sample) for op, sample in pairs]

    def together(operands):
        return [fun(*args) for fun, args in zip(functions, operands)]

    try:
        with x64(any(s.needs_x64 for _, s in pairs)):
            traced = xt.jit(together).trace([s.args for _, s in pairs])
            traced.lower(lowering_platforms=(platform,)).compile(devices=devices[:1])
    except Exception as error:
        if len(pairs) > 1:  # which of them is it?
            for pair in pairs:
                _compile([pair], platform, devices)
        ((op, sample), *_) = pairs
        raise AssertionError(f"{op.name}({sample.label}) doesn't compile for {platform}: {error}") from error
