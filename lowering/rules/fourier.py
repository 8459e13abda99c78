"""Lowering of Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core.primitive import shaped
from xtrace.lax import fourier, shapes
from xtrace.lowering.lower import Body


def _fft(ctx: Body, eqn: Any, x: Any) -> Any:
    out, fft_type, lengths = eqn.outvars[0].aval, eqn.params["fft_type"], eqn.params["fft_lengths"]
    if eqn.invars[0].aval.size == 0 or out.size == 0:  # sums of nothing, which compilers don't all know
        return ctx.constant(np.zeros((), bool), out)
    attributes = {
        "fft_type": ctx.mlir.parsed(f"#stablehlo<fft_type {fft_type.name}>"),
        "fft_length": ctx.mlir.i64_array(lengths),
    }
    return ctx.op("stablehlo.fft", out, [x], attributes)


def _by_dimensions(x: Any, lengths: tuple[int, ...]) -> Any:
    """An inverse real transform of several dimensions as a complex one of all but the last, then a real one of that."""
    ndim = shaped(x).ndim
    first = ndim - len(lengths)
    others = [*range(first), ndim - 1, *range(first, ndim - 1)]
    x = fourier.fft(shapes.transpose(x, others), fourier.FftType.IFFT, lengths[:-1])
    back = [*range(first), *range(first + 1, ndim), first]
    return fourier.fft(shapes.transpose(x, back), fourier.FftType.IRFFT, lengths[-1:])


def _fft_on_gpu(ctx: Body, eqn: Any, x: Any) -> Any:
    """cuFFT takes the spectrum for symmetric along all dimensions, where only the last one is stored by half."""
    lengths = eqn.params["fft_lengths"]
    if eqn.params["fft_type"] is fourier.FftType.IRFFT and len(lengths) > 1:
        return ctx.inline(lambda x: _by_dimensions(x, lengths), [eqn.invars[0].aval], x)[0]
    return _fft(ctx, eqn, x)


fourier.fft_p.lower = _fft
fourier.fft_p.lower_on = {"cuda": _fft_on_gpu, "rocm": _fft_on_gpu}
