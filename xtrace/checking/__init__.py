"""Checks of run-time values in compiled programs: what stands behind experimental.checkify."""
