"""The language: dtypes, avals, jaxprs, primitives, tracers, pytrees, errors, configuration and source positions."""
