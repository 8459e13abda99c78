"""Jaxprs as text, in JAX's notation."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from xtrace.core import dtypes, source
from xtrace.core.jaxpr import DropVar, Jaxpr, JaxprEqn, Literal, Var, count_names, subjaxprs

_WIDTH = 80


class _Names:
    """Variable names by order of first appearance, shared by nested jaxprs."""

    def __init__(self) -> None:
        self.fresh = count_names()
        self.of: dict[Var, str] = {}

    def __getitem__(self, atom: Any) -> str:
        if type(atom) is Literal:
            return _format_literal(atom)
        if type(atom) is DropVar:
            return "_"
        name = self.of.get(atom)
        if name is None:
            name = self.of[atom] = next(self.fresh)
        return name

    def typed(self, var: Any) -> str:
        return f"{self[var]}:{var.aval.str_short()}"


def _format_literal(atom: Literal) -> str:
    value = atom.val
    shown = value.item() if isinstance(value, np.generic) and dtypes.kind(value.dtype) in "biufc" else value
    return f"{shown}:{atom.aval.str_short()}"


def _fill(items: list[str], indent: int, first_width: int) -> str:
    """Items separated by spaces, wrapped at the page width."""
    lines, line, width = [], "", first_width
    for item in items:
        if line and width + len(line) + 1 + len(item) > _WIDTH:
            lines.append(line)
            line, width = item, indent
        else:
            line = f"{line} {item}" if line else item
    lines.append(line)
    return ("\n" + " " * indent).join(lines)


class _Printer:
    def __init__(self, jaxpr: Jaxpr | None, source_info: bool, custom_pp_eqn_rules: bool) -> None:
        self.source_info = source_info
        self.shared: dict[int, str] = {}
        self.definitions: list[str] = []
        if jaxpr is not None:
            self._share(jaxpr)

    def _share(self, jaxpr: Jaxpr) -> None:
        """Jaxprs that occur more than once are printed once, in front, under a name."""
        seen: Counter[int] = Counter()
        by_id: dict[int, Jaxpr] = {}
        names: Counter[str] = Counter()

        def visit(j: Jaxpr) -> None:
            for eqn in j.eqns:
                if eqn.primitive.holds_jaxprs:
                    for sub in subjaxprs(eqn.params):
                        seen[id(sub)] += 1
                        if seen[id(sub)] == 1:
                            by_id[id(sub)] = sub
                            visit(sub)

        visit(jaxpr)
        for key, sub in by_id.items():
            if seen[key] > 1 and sub.eqns:
                base = "".join(c if c.isalnum() or c == "_" else "_" for c in sub.debug_info.func_name) or "f"
                names[base] += 1
                self.shared[key] = base if names[base] == 1 else f"{base}{names[base] - 1}"
        self.by_id = {k: by_id[k] for k in self.shared}

    def program(self, jaxpr: Jaxpr) -> str:
        names = _Names()
        front = [
            f"let {self.shared[k]} = {self.jaxpr(j, names, 0, len(self.shared[k]) + 10)} in\n"
            for k, j in reversed(self.by_id.items())
        ]
        return "".join(front) + self.jaxpr(jaxpr, names, 0)

    def jaxpr(self, jaxpr: Jaxpr, names: _Names, indent: int, offset: int = 0) -> str:
        """The jaxpr on one line if it fits after `indent + offset` columns, else a line for each equation."""
        pad = " " * (indent + 2)
        consts = "".join(" " + names.typed(v) for v in jaxpr.constvars)
        invars = "".join(" " + names.typed(v) for v in jaxpr.invars)
        head = f"{{ lambda{consts or ' '};{invars or ' '}. let"
        body = [f"{pad}  {self.eqn(e, names, indent + 4, self._read(jaxpr))}" for e in jaxpr.eqns]
        outs = [names[v] for v in jaxpr.outvars]
        tail = f"in ({', '.join(outs)}{',' if len(outs) == 1 else ''})"
        if not body:
            return f"{head}  {tail} }}"
        flat = f"{head} {'; '.join(line.strip() for line in body)} {tail} }}"
        if indent + offset + len(flat) <= _WIDTH and "\n" not in flat and not self.source_info:
            return flat
        return "\n".join([head, *body, f"{pad}{tail} }}"])

    def _read(self, jaxpr: Jaxpr) -> set[Any]:
        def make() -> set[Any]:
            read: set[Any] = {v for v in jaxpr.outvars if type(v) is not Literal}
            for e in jaxpr.eqns:
                read.update(v for v in e.invars if type(v) is not Literal)
            return read

        return jaxpr.memo("printer.read", make)

    def eqn(self, eqn: JaxprEqn, names: _Names, indent: int, read: set[Any] | None = None) -> str:
        # Operands are named where they are first seen, before the outputs, as they are read.
        invars = [names[v] for v in eqn.invars]
        outs = [names.typed(v) if read is None or v in read else f"_:{v.aval.str_short()}" for v in eqn.outvars]
        if eqn.primitive.prints_as_call and id(eqn.params["jaxpr"]) not in self.shared:
            inner = eqn.params["jaxpr"]
            for inside, outside in (*zip(inner.invars, eqn.invars), *zip(inner.outvars, eqn.outvars)):
                if type(inside) is Var and type(outside) is Var and inside not in names.of:
                    names.of[inside] = names[outside]
        left = " ".join(outs)
        where = ""
        if self.source_info:
            where = f" # {source.describe(eqn.position)}"
        params = self.params(eqn, names, indent, len(left) + 3 + len(eqn.primitive.name))
        head = f"{left} = {eqn.primitive.name}{params}" if outs else f"{eqn.primitive.name}{params}"
        width = indent + len(head.rsplit("\n", 1)[-1]) + 1
        operands = _fill(invars, indent + 2, width)
        return f"{head} {operands}{where}" if invars else f"{head}{where}"

    def params(self, eqn: JaxprEqn, names: _Names, indent: int, offset: int) -> str:
        hidden = eqn.primitive.hidden_params
        params = eqn.params if eqn.primitive.shown_params is None else eqn.primitive.shown_params(eqn.params)
        where_empty = eqn.primitive.hidden_where_empty
        shown = {}
        for k, v in sorted(params.items()):
            # A NumPy scalar compared with () is an empty array, of no truth value.
            if k not in hidden and not (k in where_empty and isinstance(v, tuple) and not v):
                shown[k] = v
        if eqn.primitive.prints_as_call:
            shown = {k: shown.pop(k) for k in ("name", "jaxpr") if k in shown} | shown
        elif eqn.primitive.holds_jaxprs and "name" in shown:
            shown = {"name": shown.pop("name")} | shown
        if not shown:
            return ""
        texts = [f"{k}={self.param(v, names, indent + 2, len(k) + 1)}" for k, v in shown.items()]
        flat = f"[{' '.join(texts)}]"
        if "\n" not in flat and indent + offset + len(flat) <= _WIDTH:
            return flat
        pad = "\n" + " " * (indent + 2)
        return f"[{pad}{pad.join(texts)}\n{' ' * indent}]"

    def param(self, value: Any, names: _Names, indent: int, offset: int = 0) -> str:
        if isinstance(value, Jaxpr):
            return self.shared.get(id(value)) or self.jaxpr(value, names, indent, offset)
        if isinstance(value, tuple) and value and all(isinstance(v, Jaxpr) for v in value):
            pad = "\n" + " " * (indent + 2)
            inner = pad.join(self.param(v, names, indent + 2) for v in value)
            return f"({pad}{inner}\n{' ' * indent})"
        if isinstance(value, np.dtype):
            return value.name
        if isinstance(value, type):
            return value.__name__
        if callable(value) and hasattr(value, "__name__"):
            return value.__name__
        return str(value)


def format_jaxpr(
    jaxpr: Jaxpr, *, source_info: bool = False, use_color: bool = False, custom_pp_eqn_rules: bool = True, **_: Any
) -> str:
    """The program as text. `source_info` adds each equation's file and line as a comment."""
    return _Printer(jaxpr, source_info, custom_pp_eqn_rules).program(jaxpr)


def format_eqn(eqn: JaxprEqn) -> str:
    """One equation as it stands in a printed jaxpr, its variables named from a on."""
    printer = _Printer(None, False, True)
    return printer.eqn(eqn, _Names(), 0)
