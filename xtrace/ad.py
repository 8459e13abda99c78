"""What becomes of each gradient of a pullback: entries and results of the pullback's `with_refs`."""

from xtrace.api.vjp_function import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
