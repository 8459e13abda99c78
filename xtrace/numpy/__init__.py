"""NumPy's interface on traced arrays."""

from xtrace.numpy.ufuncs import add, cos, exp, greater, log, multiply, negative, sin, subtract, tanh, true_divide

__all__ = ["add", "cos", "exp", "greater", "log", "multiply", "negative", "sin", "subtract", "tanh", "true_divide"]
