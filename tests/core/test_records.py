"""Records: named fields in order."""

import pytest

from xtrace.core.records import Record


class Step(Record):
    __slots__ = ("position", "axes")


def test_fields():
    step = Step(1, (2, 3))
    assert (step.position, step.axes) == (1, (2, 3))
    assert repr(step) == "Step(position=1, axes=(2, 3))"
    moved = step.replace(position=4)
    assert (type(moved), moved.position, moved.axes, step.position) == (Step, 4, (2, 3), 1)
    with pytest.raises(ValueError):
        Step(1)
    with pytest.raises(AttributeError):
        step.other = 1
