"""The cameras of a robot as `cameras.yaml` tells them, and the parameters of their drivers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serl_franka_bringup import config
from serl_franka_bringup.config import ConfigError


@dataclass(frozen=True)
class Camera:
    """One RealSense camera.

    Attributes:
      serial: its serial number; empty: not told yet.
      width, height: of the picture [pixel].
      fps: pictures per second.
      crop: what of the picture is used: rows from, to; columns from, to [pixel].
    """

    serial: str
    width: int
    height: int
    fps: int
    crop: tuple[int, int, int, int]

    def __post_init__(self) -> None:
        top, bottom, left, right = self.crop
        if not (0 <= top < bottom <= self.height and 0 <= left < right <= self.width):
            raise ValueError(f"crop {self.crop} is not inside {self.width} x {self.height} pixels")
        if self.fps < 1:
            raise ValueError(f"fps is {self.fps}, expected at least 1")

    def driver_parameters(self, name: str) -> dict[str, Any]:
        """Of realsense2_camera: colour only. A D405 has its colour in the depth module."""
        profile = f"{self.width}x{self.height}x{self.fps}"
        return {
            "camera_name": name,
            "serial_no": self.serial,
            "enable_color": True,
            "enable_depth": False,
            "enable_infra1": False,
            "enable_infra2": False,
            "rgb_camera.color_profile": profile,
            "depth_module.color_profile": profile,
        }


def load_cameras(path: Path) -> dict[str, Camera]:
    """Camera by name.

    Raises:
      ConfigError: names the file and the key.
    """
    content = config.read_yaml(path)
    cameras = {}
    for name, values in content.items():
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: {name}: expected a group of keys, got {values!r}")
        cameras[name] = config.build(Camera, values, f"{path}: {name}")
    without = [name for name, camera in cameras.items() if not camera.serial]
    if without:
        raise ConfigError(
            f"{path}: {', '.join(without)}: no serial number; `rs-enumerate-devices -s` lists "
            "those of the cameras that are plugged in, and cameras:=false goes without"
        )
    serials = [camera.serial for camera in cameras.values()]
    if len(set(serials)) < len(serials):
        raise ConfigError(f"{path}: two cameras have the same serial number: {serials}")
    return cameras
