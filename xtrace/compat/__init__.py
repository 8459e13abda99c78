"""JAX names kept for programs that reach past the public interface."""
