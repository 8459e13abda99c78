"""Rules of primitives, registered the way libraries written for JAX do (jax.interpreters).

A primitive of xtrace owns its rules as attributes; the modules here are views of those, by JAX's names and calling
conventions.
"""
