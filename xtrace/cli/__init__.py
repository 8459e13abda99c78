"""The `xtrace` command."""
