"""PJRT: backends, devices, shardings, arrays, compiling, caches and dispatch."""
