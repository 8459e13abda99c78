"""Measurements against JAX, side by side: `python -m bench`."""
