"""Catalogue entries of Fourier and cosine transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from tests.catalogue.catalogue import Bad, Draw, Op, Sample

_ROW = np.zeros((2, 4), np.float32)
_WIDE = {"tolerance": 8}


def _of(dtypes: tuple[str, ...], *calls: dict[str, Any], shape: tuple[int, ...] = (2, 3, 4)) -> Any:
    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            for params in calls:
                yield Sample(draw.array(shape, dtype), **params)

    return samples


_REAL = ("float32", "float64", "int32")
_ANY = (*_REAL, "complex64")
_ONE = ({}, {"n": 3, "axis": 1}, {"n": 6, "norm": "ortho"}, {"axis": 0, "norm": "forward"})
_SEVERAL = ({}, {"s": (3, 5), "axes": (2, 0)}, {"axes": (-1, -2), "norm": "ortho"})


def _numpy(name: str, **options: Any) -> Op:
    real = name.lstrip("i") in ("rfft", "rfft2", "rfftn") and name[0] == "r" or name == "ihfft"
    calls = _ONE if name.endswith("fft") else _SEVERAL
    return Op(
        f"numpy.fft.{name}",
        _of(_REAL if real else _ANY, *calls),
        getattr(np.fft, name),
        bad=[Bad(ValueError, "out of bounds", _ROW, **({"axis": 5} if name.endswith("fft") else {"axes": (0, 5)}))],
        **_WIDE,
        **options,
    )


def _lax(draw: Draw) -> Any:
    for lengths in ((4,), (3, 4)):
        yield Sample(draw.array((2, 3, 4), "complex64"), fft_type="fft", fft_lengths=lengths)
        yield Sample(draw.array((2, 3, 4), "complex128"), fft_type="ifft", fft_lengths=lengths)
        yield Sample(draw.array((2, 3, 4), "float32"), fft_type="rfft", fft_lengths=lengths)
        yield Sample(draw.array((2, 3, 3), "complex64"), fft_type="irfft", fft_lengths=lengths)
    yield Sample(draw.array((0, 4), "float32"), fft_type="rfft", fft_lengths=(4,))


def _lax_reference(x: Any, fft_type: str, fft_lengths: tuple[int, ...]) -> Any:
    return getattr(np.fft, f"{fft_type}n")(x, fft_lengths, tuple(range(x.ndim - len(fft_lengths), x.ndim)))


def _cosine(name: str) -> Op:
    calls = ({}, {"n": 5, "axis": 0}, {"norm": "ortho"})
    if name.endswith("n"):
        calls = ({}, {"s": (3, 5), "axes": (2, 0)}, {"norm": "ortho"})
    return Op(
        f"scipy.fft.{name}",
        _of(("float32", "float64"), *calls),
        getattr(scipy.fft, name),
        bad=[Bad(NotImplementedError, "type 2", _ROW, type=1)],
        **_WIDE,
    )


OPS = [
    Op(
        "lax.fft",
        _lax,
        _lax_reference,
        bad=[Bad(ValueError, "minor dimensions", _ROW, fft_type="rfft", fft_lengths=(3,))],
        **_WIDE,
    ),
    *[
        _numpy(name)
        for name in ("fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn").split()
    ],
    *[
        Op(f"numpy.fft.{name}", _of(("float32", "int32"), {}, {"axes": 1}), getattr(np.fft, name))
        for name in ("fftshift", "ifftshift")
    ],
    *[_cosine(name) for name in ("dct", "idct", "dctn", "idctn")],
]
