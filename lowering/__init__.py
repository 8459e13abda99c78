"""Jaxpr to StableHLO."""
