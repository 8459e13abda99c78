import importlib.metadata

import xtrace as xt


def test_version_is_that_of_jaxlib():
    assert xt.lib.__version__ == importlib.metadata.version("jaxlib")
