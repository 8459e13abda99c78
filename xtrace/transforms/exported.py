"""The primitive that calls an exported program: its module becomes a function of the program being lowered."""

from __future__ import annotations

from xtrace.core import dtypes
from xtrace.core.primitive import Primitive

#: Results of dtype float0 are not passed: there is nothing in them.
call_exported_p = Primitive(
    "call_exported", lambda *avals, exported: [a for a in exported.out_avals if a.dtype != dtypes.float0]
)
call_exported_p.multiple_results = True
#: The program takes random keys as the words they are stored as, and so does the call.
call_exported_p.takes_extended = True
