"""Parts of JAX's interface that JAX keeps under `experimental`."""
