"""The release number, read by the build and by `xtrace info`."""

__version__ = "0.1.0"
