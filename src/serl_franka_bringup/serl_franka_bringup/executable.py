"""Finds the executables of ROS packages through the ament index, without ros2cli."""

from __future__ import annotations

import os
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix


class ExecutableError(RuntimeError):
    """A node's program is not where the ament index says its package is."""


def find_executable(package: str, executable: str) -> Path:
    """`<prefix>/lib/<package>/<executable>` of an installed package."""
    try:
        prefix = Path(get_package_prefix(package))
    except PackageNotFoundError as error:
        prefixes = os.environ.get("AMENT_PREFIX_PATH", "")
        raise ExecutableError(
            f"package '{package}' is not installed (AMENT_PREFIX_PATH: {prefixes or 'empty'}); "
            "build the workspace with `./serl setup`"
        ) from error
    path = prefix / "lib" / package / executable
    if not os.access(path, os.X_OK):
        raise ExecutableError(f"package '{package}' has no executable '{executable}': {path}")
    return path
