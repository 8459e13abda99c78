"""One file of lowering rules per family of primitives, under the same file names as xtrace/lax."""
