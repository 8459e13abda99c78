"""What libraries that extend the language use (jax.extend)."""
