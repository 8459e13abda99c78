"""The release number, read by the build and by `xtrace info`."""

__version__ = "0.1.0"
__version_info__ = tuple(int(part) for part in __version__.split("."))

#: The version of JAX whose public names and behaviour this release follows.
jax_version = "0.12.0"
jax_version_info = (0, 12, 0)
