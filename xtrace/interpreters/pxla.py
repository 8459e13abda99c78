"""Programs on several devices (jax.interpreters.pxla): nothing of it is for libraries any more."""

__all__: list[str] = []
