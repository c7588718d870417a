"""The topics of cameras: callbacks check and store, the rollout's thread waits."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image

from serl_actor.frames import Frame, StaleImage
from serl_controllers.ros_arm import ns_from_time

ENCODINGS = ("rgb8", "bgr8")

KEPT = 8
"""The newest pictures of each camera; one of them is taken close to any state of now."""


class ImageError(ValueError):
    """A picture that cannot be read; the message shows the value and what is expected."""


@dataclass(frozen=True, eq=False)
class _Arrived:
    """A picture and when it came, on the steady clock [s]."""

    message: Image
    stamp_ns: int
    at: float


class CameraTopics:
    """camera/<name>/color/image_raw in, the newest pictures of each camera."""

    def __init__(self, node: Node, names: Sequence[str]) -> None:
        self._node = node
        self._changed = threading.Condition()
        self._arrived: dict[str, deque[_Arrived]] = {name: deque(maxlen=KEPT) for name in names}
        self._refused: dict[str, str] = {}  # why a camera's last picture was refused
        self._topics: dict[str, str] = {}
        for name in names:
            subscription = node.create_subscription(
                Image,
                f"camera/{name}/color/image_raw",
                partial(self._on_image, name),
                qos_profile_sensor_data,
            )
            self._topics[name] = subscription.topic_name

    def wait_stamp(self, stamp_ns: int, timeout: float) -> bool:
        """Whether every camera has a picture of that stamp, at the latest after `timeout` [s]."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._missing(stamp_ns), timeout)

    def wait_since(self, stamp_ns: int, timeout: float) -> bool:
        """Forgets what was taken before; whether every camera has a picture then, at the latest
        after `timeout` [s]."""
        with self._changed:
            for arrived in self._arrived.values():
                kept = [picture for picture in arrived if picture.stamp_ns >= stamp_ns]
                arrived.clear()
                arrived.extend(kept)
            return self._changed.wait_for(lambda: all(self._arrived.values()), timeout)

    def at_stamp(self, stamp_ns: int) -> dict[str, Frame]:
        """The pictures of that stamp; StaleImage if a camera has none."""
        with self._changed:
            for name in self._missing(stamp_ns):
                raise StaleImage(name, f"no picture of the arm's state came{self._why(name)}")
            found = {name: self._of_stamp(name, stamp_ns) for name in self._arrived}
        return {name: _frame(picture) for name, picture in found.items() if picture is not None}

    def of_now(self, stamp_ns: int, max_age: float) -> dict[str, Frame]:
        """Of each camera the picture taken closest to `stamp_ns`.

        Raises:
          StaleImage: a camera has none that came within the last `max_age` [s].
        """
        now = time.monotonic()
        with self._changed:
            chosen = {name: self._closest(name, stamp_ns, now, max_age) for name in self._arrived}
        return {name: _frame(picture) for name, picture in chosen.items()}

    def _closest(self, name: str, stamp_ns: int, now: float, max_age: float) -> _Arrived:
        arrived = self._arrived[name]
        fresh = [picture for picture in arrived if now - picture.at <= max_age]
        if fresh:
            return min(fresh, key=lambda picture: abs(picture.stamp_ns - stamp_ns))
        if not arrived:
            raise StaleImage(name, f"no picture came{self._why(name)}")
        raise StaleImage(
            name,
            f"the newest picture is {now - arrived[-1].at:.3f} s old, limit {max_age} s"
            f"{self._why(name)}",
        )

    def _missing(self, stamp_ns: int) -> list[str]:
        return [name for name in self._arrived if self._of_stamp(name, stamp_ns) is None]

    def _of_stamp(self, name: str, stamp_ns: int) -> _Arrived | None:
        found = (picture for picture in self._arrived[name] if picture.stamp_ns == stamp_ns)
        return next(found, None)

    def _why(self, name: str) -> str:
        refused = self._refused.get(name)
        return f" on {self._topics[name]}" + (f"; refused: {refused}" if refused else "")

    def _on_image(self, name: str, message: Image) -> None:
        try:
            check_image(message)
        except ImageError as error:
            self._refused[name] = str(error)
            self._node.get_logger().warning(
                f"picture of camera {name} refused: {error}", throttle_duration_sec=5.0
            )
            return
        picture = _Arrived(message, ns_from_time(message.header.stamp), time.monotonic())
        with self._changed:
            self._refused.pop(name, None)
            self._arrived[name].append(picture)
            self._changed.notify_all()


def check_image(message: Image) -> None:
    """Passes if `pixels_of` can read the message; ImageError names what is wrong."""
    if message.encoding not in ENCODINGS:
        raise ImageError(f"encoding '{message.encoding}', expected {' or '.join(ENCODINGS)}")
    if min(message.height, message.width) < 1:
        raise ImageError(f"{message.width} x {message.height} pixels, expected some")
    if message.step < 3 * message.width:
        raise ImageError(f"step is {message.step} for {message.width} pixels of 3 bytes")
    if len(message.data) != message.height * message.step:
        raise ImageError(
            f"{len(message.data)} bytes, expected {message.height} rows of {message.step}"
        )


def pixels_of(message: Image) -> np.ndarray:
    """RGB, uint8 [H, W, 3], of a checked message; may share its memory."""
    rows = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)
    pixels = rows[:, : 3 * message.width].reshape(message.height, message.width, 3)
    return pixels if message.encoding == "rgb8" else pixels[:, :, ::-1]


def _frame(picture: _Arrived) -> Frame:
    return Frame(picture.stamp_ns, pixels_of(picture.message))
