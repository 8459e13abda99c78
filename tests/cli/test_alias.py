"""`import jax` means xtrace, in a process of its own: the alias holds for a whole process."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def run(code):
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_modules_are_the_same_objects():
    assert run(
        """
        from xtrace.cli import alias
        alias.install()
        import jax, jax.core, xtrace, xtrace.core.dtypes
        from jax.core import dtypes
        import jax.core.avals as avals
        print(jax is xtrace, jax.core is xtrace.core, dtypes is xtrace.core.dtypes, avals.__name__)
        print(xtrace.__spec__.name, avals.__spec__.name)
        """
    ) == "True True True xtrace.core.avals\nxtrace xtrace.core.avals"  # fmt: skip


def test_versions_are_those_a_jax_program_compares():
    assert run(
        """
        from xtrace.cli import alias
        alias.install()
        import jax, jax.version
        from xtrace.version import __version__, jax_version
        print(jax.__version__ == jax.version.__version__ == jax_version)
        print(jax.__version_info__ >= (0, 4, 30), jax.version.__version_info__ == jax.__version_info__)
        print(__version__ != jax.__version__)
        """
    ) == "True\nTrue True\nTrue"  # fmt: skip


def test_a_module_we_lack_is_missing_by_its_jax_name():
    assert run(
        """
        from xtrace.cli import alias
        alias.install()
        try:
            import jax.no_such_module
        except ModuleNotFoundError as error:
            print(error.name, '|', error)
        """
    ) == (
        "jax.no_such_module | No module named 'jax.no_such_module': "
        "xtrace stands in for jax and has no xtrace.no_such_module"
    )  # fmt: skip


def test_refused_once_the_real_jax_is_there_and_undone_cleanly():
    assert run(
        """
        import sys, types
        from xtrace.cli import alias
        alias.install(); alias.install()
        import jax.core
        alias.uninstall()
        print([name for name in sys.modules if name.split('.')[0] == 'jax'])
        sys.modules['jax'] = types.ModuleType('jax')
        try:
            alias.install()
        except RuntimeError as error:
            print(error)
        """
    ) == "[]\njax is already imported from ?; alias it before that"  # fmt: skip


def test_jaxlib_finds_our_classes_where_it_looks_for_jaxs():
    assert run(
        """
        import sys
        from xtrace.cli import alias
        alias.install()
        import jax.core
        import numpy as np
        from xtrace.runtime import transfers
        x = transfers.device_put(np.arange(3, dtype=np.float32))
        print(np.asarray(x).tolist(), x.unsafe_buffer_pointer() != 0)
        print(sorted(name for name in sys.modules if name.split('.')[0] == 'jax'), jax.core.__name__)
        """
    ) == "[0.0, 1.0, 2.0] True\n['jax', 'jax.core'] xtrace.core"  # fmt: skip
