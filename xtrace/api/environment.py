"""What a report of a problem should say about the machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys

import numpy as np

from xtrace.runtime import backends, jaxlib_api
from xtrace.version import __version__


def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions, devices and settings, to go with questions and reports of problems.

    Args:
      return_string: return the text instead.

    Returns:
      The text, or None where it is printed.

    Example:
      >>> import xtrace as xt
      >>> xt.print_environment_info(return_string=True).splitlines()[0].split(":")[0]
      'xtrace'
    """
    devices = backends.devices()
    lines = [
        f"xtrace: {__version__}",
        f"jaxlib: {jaxlib_api.jaxlib_version}",
        f"numpy:  {np.__version__}",
        f"python: {' '.join(sys.version.split())}",
        f"device info: {devices[0].device_kind}-{len(devices)}, {backends.local_device_count()} local devices",
        f"process_count: {backends.process_count()}",
        f"platform: {platform.uname()}",
        *[f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith(("XTRACE_", "JAX_", "XLA_"))],
    ]
    tool = shutil.which("nvidia-smi")
    if tool is not None:
        done = subprocess.run([tool], capture_output=True, text=True)
        if done.returncode == 0:
            lines += ["", "$ nvidia-smi", done.stdout]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None
