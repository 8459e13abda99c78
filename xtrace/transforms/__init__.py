"""Functions to functions: staging, forward and reverse derivatives, batching, calls, custom rules."""
