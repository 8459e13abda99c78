"""The primitives, one file per family, and the functions over them."""
