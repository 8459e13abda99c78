"""Show what a function becomes: its jaxpr, before and after each pass, its StableHLO, or the HLO that XLA makes of it.

  xtrace dump-hlo model.py:predict --arg "{'w': f32[784,10], 'b': f32[10]}" --arg 'f32[128,784]'
  xtrace dump-hlo model.py:loss --args-from model.py:make_args --transform grad --stage jaxpr
  xtrace dump-hlo package.module:step --arg n=i32 --static steps=3 --stage hlo --cost

TARGET is file.py:function or package.module:function. Each --arg is one argument, in order: a dtype with a shape, or a
Python tuple, list or dict of them; NAME=SPEC passes it by name. In the target, `import jax` means xtrace.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xtrace.cli import alias, argspec
from xtrace.cli import target as targets
from xtrace.cli.errors import CommandError
from xtrace.runtime import plugins, topologies

NAME = "dump-hlo"
HELP = "show the jaxpr, passes, StableHLO or optimized HLO of a function"

STAGES = ("jaxpr", "passes", "stablehlo", "hlo")
TRANSFORMS = ("grad", "vmap", "value_and_grad")
PLATFORMS = ("cpu", "cuda", "tpu")
#: What to compile for when the hardware is absent and no topology is given.
_USUAL_TOPOLOGY = {"cuda": "h100", "tpu": "v5e:2x2"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xtrace dump-hlo`."""
    parser.add_argument("target", metavar="TARGET", help="file.py:function or package.module:function")
    parser.add_argument("--arg", action="append", default=[], metavar="[NAME=]SPEC", help="an argument, e.g. f32[128]")
    parser.add_argument("--args-from", metavar="TARGET", help="a function that returns the tuple of arguments")
    parser.add_argument(
        "--static", action="append", default=[], metavar="NAME=VALUE", help="a Python value that is not traced"
    )
    parser.add_argument("--stage", choices=STAGES, default="stablehlo", help="what to show (default: stablehlo)")
    parser.add_argument(
        "--transform", action="append", choices=TRANSFORMS, default=[], help="transform first; repeat to nest"
    )
    parser.add_argument(
        "--passes", metavar="NAMES", help="which passes: names, default, all, none, +NAME or -NAME (after =)"
    )
    parser.add_argument("--platform", metavar="PLATFORM", help="cpu, cuda[:gpu] or tpu[:topology], present here or not")
    parser.add_argument("--x64", action="store_true", help="allow 64-bit types")
    parser.add_argument("--cost", action="store_true", help="XLA's cost analysis of the compiled program too")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to FILE instead of standard output")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(args: argparse.Namespace) -> int:
    """Run `xtrace dump-hlo`; returns the exit status."""
    platform, topology = _platform(args.platform)
    xt: Any = importlib.import_module("xtrace")
    if args.x64:
        xt.config.update("jax_enable_x64", True)
    if args.passes is not None:
        try:
            xt.config.update("passes", args.passes)
        except ValueError as error:
            raise CommandError(str(error).replace("config flag 'passes'", "--passes")) from None
    alias.install()
    function = targets.load(args.target)
    values, keywords = _arguments(args, lambda shape, dtype: xt.ShapeDtypeStruct(shape, dtype))
    static = dict(_static(text) for text in args.static)
    _check_arity(args.target, function, values, keywords | static)
    for name in args.transform:
        function, static = _bind(function, static), {}
        function = getattr(xt, name)(function)
    if not hasattr(function, "trace"):
        function = xt.jit(function, static_argnames=tuple(static))
    traced = function.trace(*values, **keywords, **static)
    lowered = compiled = None
    if args.stage != "jaxpr" or args.cost:
        lowered = traced.lower(lowering_platforms=None if platform is None else (platform,))
    if lowered is not None and (args.stage == "hlo" or args.cost):
        absent = _absent_devices(platform, topology)
        compiled = lowered.compile() if absent is None else lowered.compile(devices=absent)
    text = {
        "jaxpr": lambda: str(traced.jaxpr),
        "passes": lambda: lowered.passes.text(),
        "stablehlo": lambda: lowered.as_text(),
        "hlo": lambda: compiled.as_text(),
    }[args.stage]()
    cost = _cost(compiled) if args.cost else None
    _write(args, text, cost, traced)
    return 0


def _platform(text: str | None) -> tuple[str | None, str | None]:
    if text is None:
        return None, None
    platform, _, topology = text.partition(":")
    platform = {"gpu": "cuda"}.get(platform, platform)
    if platform not in PLATFORMS:
        raise CommandError(f"unknown platform {text!r}: write cpu, cuda, tpu, or a topology such as tpu:v5e:2x2")
    if topology and platform == "cpu":
        raise CommandError(f"cpu has no topologies: write cpu instead of {text}")
    return platform, topology or None


def _absent_devices(platform: str | None, topology: str | None) -> list[Any] | None:
    """The device to compile for when it is not this machine's: one of a topology."""
    if platform is None or platform == "cpu" or (topology is None and plugins.hardware_present(platform)):
        return None
    try:
        return topologies.compile_only_devices(platform, topology or _USUAL_TOPOLOGY[platform])[:1]
    except ValueError as error:
        raise CommandError(str(error)) from None


def _arguments(args: argparse.Namespace, make_leaf: argspec.MakeLeaf) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if args.args_from is not None:
        if args.arg:
            raise CommandError("give either --arg or --args-from, not both")
        made = targets.load(args.args_from)()
        if isinstance(made, dict):
            return (), made
        return made if isinstance(made, tuple) else (made,), {}
    values: list[Any] = []
    keywords: dict[str, Any] = {}
    for position, text in enumerate(args.arg, 1):
        name, spec = argspec.split_keyword(text)
        try:
            value = argspec.parse(spec, make_leaf)
        except CommandError as error:
            raise CommandError(f"--arg {name or position}: {error}") from None
        if name is None:
            values.append(value)
        else:
            keywords[name] = value
    return tuple(values), keywords


def _static(text: str) -> tuple[str, Any]:
    """Split `name=value`; a value that is not a Python literal is taken as a string."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise CommandError(f"--static {text}: write it as NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _check_arity(name: str, function: Any, values: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin: the call itself will tell
    try:
        signature.bind(*values, **keywords)
    except TypeError as error:
        given = f"{len(values)} by position" + (f" and {', '.join(keywords)} by name" if keywords else "")
        shown = ", ".join(str(p.replace(annotation=p.empty)) for p in signature.parameters.values())
        raise CommandError(
            f"{name} takes ({shown}) and got {given}: {error}; give each argument with --arg, --static or --args-from"
        ) from None


def _bind(function: Callable[..., Any], static: dict[str, Any]) -> Callable[..., Any]:
    """Fix the static arguments: the transformations would take them for arrays."""
    if not static:
        return function

    @functools.wraps(function)
    def bound(*args: Any, **keywords: Any) -> Any:
        return function(*args, **keywords, **static)

    return bound


def _cost(compiled: Any) -> dict[str, float]:
    analysis = compiled.cost_analysis()
    return dict(analysis[0] if isinstance(analysis, list | tuple) else analysis or {})


def _avals(tree: Any) -> list[str]:
    return [f"{aval}" for aval in tree]


def _write(args: argparse.Namespace, text: str, cost: dict[str, float] | None, traced: Any) -> None:
    if args.json:
        jaxpr = traced.jaxpr
        record: dict[str, Any] = {
            "target": args.target,
            "transforms": args.transform,
            "stage": args.stage,
            "platform": args.platform,
            "inputs": _avals(jaxpr.in_avals),
            "outputs": _avals(jaxpr.out_avals),
            "text": text,
        }
        if cost is not None:
            record["cost"] = cost
        text, cost = json.dumps(record, indent=2), None
    if args.output is None:
        print(text if not text.endswith("\n") else text[:-1])
    else:
        try:
            args.output.write_text(text if text.endswith("\n") else text + "\n")
        except OSError as error:
            raise CommandError(f"cannot write {args.output}: {error.strerror}") from None
    if cost is not None:
        print("\ncost, as XLA estimates it" if args.output is None else "cost, as XLA estimates it")
        # XLA also reports each operand's share ("bytes accessed0{}"); the totals are what a reader wants.
        totals = {name: amount for name, amount in cost.items() if not name.endswith("}")}
        width = max(map(len, totals), default=0)
        for name, amount in sorted(totals.items()):
            print(f"  {name:<{width}}  {amount:,.0f}")
