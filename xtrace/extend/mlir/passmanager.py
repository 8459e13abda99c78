"""Stands in for jaxlib's module, which takes its place in sys.modules when this is imported."""

import importlib
import sys

sys.modules[__name__] = importlib.import_module("jaxlib.mlir.passmanager")
