"""The robot description: a xacro file of this package, expanded with its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from serl_franka_bringup.robots import DESCRIPTION


class DescriptionError(ValueError):
    """A description that cannot be made; says what is missing or wrong."""


def expand(arguments: Mapping[str, str], path: Path | None = None) -> str:
    """The URDF of the installed description, or of the xacro file at `path`.

    Raises:
      DescriptionError: xacro or a package that the description includes is not installed.
    """
    try:
        import xacro
    except ImportError as error:
        raise DescriptionError("xacro is not installed: apt install ros-jazzy-xacro") from error
    if path is None:
        from ament_index_python.packages import get_package_share_directory

        path = Path(get_package_share_directory("serl_franka_bringup")) / DESCRIPTION
    try:
        return xacro.process_file(str(path), mappings=dict(arguments)).toxml()
    except Exception as error:  # xacro raises many kinds, for packages and for syntax
        raise DescriptionError(f"{path}: {error}") from error
