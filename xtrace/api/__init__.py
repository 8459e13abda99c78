"""The public transformations: jit, grad, vmap and the others, and the stages of compilation."""
