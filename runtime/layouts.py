"""Layouts: in which order an array's axes lie in memory, and how that order is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xtrace.runtime import jaxlib_api


class _Auto:
    """The layout that the compiler chooses."""

    def __repr__(self) -> str:
        return "AUTO"


AUTO = _Auto()


class Layout:
    """The order of an array's axes in memory.

    Args:
      major_to_minor: the axes, from the one that varies slowest to the one that varies fastest.
      tiling: shapes of the tiles that the array is cut into, None for the device's own way.
      sub_byte_element_size_in_bits: of packed elements of fewer than 8 bits; 0 for others.

    >>> import xtrace as xt
    >>> from xtrace.experimental.layout import Layout, with_layout_constraint
    >>> with_layout_constraint(xt.numpy.ones((2, 3)), Layout((1, 0))).format.layout.major_to_minor
    (1, 0)
    """

    __slots__ = ("major_to_minor", "tiling", "sub_byte_element_size_in_bits")

    #: The layout that the compiler chooses.
    AUTO = AUTO

    def __init__(
        self,
        major_to_minor: Iterable[int],
        tiling: Iterable[Iterable[int]] | None = None,
        sub_byte_element_size_in_bits: int = 0,
    ) -> None:
        self.major_to_minor: tuple[int, ...] = tuple(major_to_minor)
        self.tiling = tuple([tuple(tile) for tile in tiling]) if tiling is not None else None
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    def _key(self) -> tuple[Any, ...]:
        return (self.major_to_minor, self.tiling, self.sub_byte_element_size_in_bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"Layout({fields})"

    def update(self, **changes: Any) -> Layout:
        """A copy with some fields replaced."""
        return Layout(**{name: changes.pop(name, getattr(self, name)) for name in self.__slots__}, **changes)

    @staticmethod
    def from_pjrt_layout(pjrt_layout: Any) -> Layout:
        """The layout that the runtime reports of a buffer."""
        found = pjrt_layout._xla_layout()
        return Layout(tuple(found.minor_to_major())[::-1], found.tiling(), found.element_size_in_bits())

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raise ValueError unless arrays of this shape can lie so."""
        if sorted(self.major_to_minor) != list(range(len(aval_shape))):
            raise ValueError(
                "Length of major_to_minor and the rank of the value should match, and its numbers be the value's axes: "
                f"got major_to_minor={self.major_to_minor} for shape={tuple(aval_shape)}"
            )

    def text(self) -> str:
        """As XLA writes it: `{1,0:T(8,128)}`."""
        order = ",".join(map(str, reversed(self.major_to_minor)))
        tiles = "".join(f"({','.join(map(str, tile))})" for tile in self.tiling or ())
        bits = f"E({self.sub_byte_element_size_in_bits})" if self.sub_byte_element_size_in_bits else ""
        more = (f"T{tiles}" if tiles else "") + bits
        return f"{{{order}:{more}}}" if more else f"{{{order}}}"


class Format:
    """How an array lies: its layout on each device, and its sharding over devices.

    Args:
      layout: a Layout; `Layout.AUTO` to let the compiler choose; None for the default.
      sharding: a Sharding, or None.

    Raises:
      ValueError: a Layout without a sharding.
      TypeError: `layout` is no layout, or `sharding` no sharding.

    >>> import xtrace as xt
    >>> x = xt.numpy.ones((2, 3))
    >>> x.format.layout.major_to_minor, x.format.sharding == x.sharding
    ((0, 1), True)
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Layout | _Auto | None = None, sharding: Any = None) -> None:
        if not (layout is None or layout is AUTO or isinstance(layout, Layout)):
            raise TypeError(
                "Invalid value received for the layout argument: a Layout, Layout.AUTO or None is expected; "
                f"got {layout} of type {type(layout)}"
            )
        if not (sharding is None or isinstance(sharding, jaxlib_api.Sharding)):
            raise TypeError(
                "Invalid value received for the sharding argument: a Sharding or None is expected; "
                f"got {sharding} of type {type(sharding)}"
            )
        if sharding is None and isinstance(layout, Layout):
            raise ValueError(
                "Sharding has to be concrete when layout is of type Layout: give Format a NamedSharding or "
                "SingleDeviceSharding"
            )
        self.layout, self.sharding = layout, sharding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and (self.layout, self.sharding) == (other.layout, other.sharding)

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"


def format_of(array: Any) -> Format:
    """How a concrete array lies; of an array of keys, its words."""
    array = getattr(array, "_base_array", array)
    return Format(Layout.from_pjrt_layout(array._pjrt_layout), array._sharding)


def split(places: Iterable[Any]) -> tuple[list[Any], tuple[Any, ...] | None]:
    """The shardings of places, which are shardings, Formats or None; and their layouts, None if none has any."""
    found, orders = [], []
    for place in places:
        is_format = type(place) is Format
        found.append(place.sharding if is_format else place)
        orders.append(place.layout if is_format else None)
    return found, tuple(orders) if any(o is not None for o in orders) else None


def attributes(orders: Sequence[Any] | None, avals: Sequence[Any]) -> list[dict[str, str]]:
    """The attribute of each argument or result of a program that asks for a layout."""
    made = []
    for layout, aval in zip(orders or [None] * len(avals), avals):
        if isinstance(layout, Layout):
            layout.check_compatible_aval(aval.shape)
            made.append({"mhlo.layout_mode": f'"{layout.text()}"'})
        else:
            made.append({"mhlo.layout_mode": '"auto"'} if layout is AUTO else {})
    return made


#: Whether some array may lie otherwise than in the default order: until then no call looks.
in_use = False


def placed(x: Any, layout: Layout | _Auto | None) -> Any:
    """A copy of a concrete array that lies as `layout` says; `x` itself where it does already."""
    from xtrace.core.jaxpr import Jaxpr, Var
    from xtrace.runtime import program

    if not isinstance(layout, Layout):
        return x
    layout.check_compatible_aval(x.shape)
    have = Layout.from_pjrt_layout(x._pjrt_layout)
    if have == layout or (layout.tiling is None and have.major_to_minor == layout.major_to_minor):
        return x
    key = (x.aval, x._sharding, x._committed, have, layout)
    copy = _copies.get(key)
    if copy is None:
        var = Var(x.aval)
        where = program.placement_of([x])._replace(arg_layouts=(have,), out_layouts=(layout,))
        made = program.LoweredProgram(Jaxpr([], [var], [var], []), "relayout", (where.platform,), **where.of_values())
        copy = _copies[key] = program.Executable(made, where)
    return copy.call([x])[0]


_copies: dict[Any, Any] = {}


def fits(x: Any, layout: Any) -> bool:
    """Whether an array lies as the runtime's `layout` says; None is what tokens have."""
    return layout is None or x._pjrt_layout == layout


def fitted(arrays: Sequence[Any], expected: Sequence[Any]) -> list[Any]:
    """The arguments of a program, each in the layout that it was compiled for."""
    return [x if fits(x, layout) else placed(x, Layout.from_pjrt_layout(layout)) for x, layout in zip(arrays, expected)]
