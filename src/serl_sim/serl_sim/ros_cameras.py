"""The simulated cameras on the topics of realsense2_camera."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import mujoco
import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header

from serl_controllers.ros_arm import time_from_ns
from serl_sim.camera_rig import CameraRig, intrinsics
from serl_sim.config import CamerasConfig
from serl_sim.simulation import Simulation


class RosCameras:
    """Publishes what the cameras see of a simulation, and gives it the looks that they are
    configured for.

    The same stamp has the same images: who missed them and asks again gets them again.
    """

    def __init__(
        self, node: Node, simulation: Simulation, config: CamerasConfig, apart: bool = False
    ) -> None:
        """`apart`: they are drawn in a thread of their own, and nothing waits for them, as in real
        time nothing may.

        Raises:
          GLError, ValueError: as CameraRig.
        """
        self._simulation = simulation
        self._thread = ThreadPoolExecutor(1, "cameras") if apart else None
        self._drawing: Future[None] | None = None
        self._copy = mujoco.MjData(simulation.model)  # of what is drawn apart
        self._rig = self._make_rig(config)
        simulation.dress(self._rig)
        self._seen: tuple[int, dict[str, np.ndarray]] | None = None  # stamp and images
        self._cameras = {
            name: _Camera(
                node, name, intrinsics(simulation.model, name, config.width, config.height)
            )
            for name in config.names
        }
        node.get_logger().info(f"{self._rig.backend} draws for cameras {', '.join(config.names)}")

    def _make_rig(self, config: CamerasConfig) -> CameraRig:
        """In the thread that draws: OpenGL belongs to it."""
        if self._thread is None:
            return CameraRig(self._simulation.model, config)
        return self._thread.submit(CameraRig, self._simulation.model, config).result()

    def publish(self) -> None:
        """Images of now, if anyone listens; apart, unless the last ones are not done yet."""
        if not any(camera.is_heard for camera in self._cameras.values()):
            return
        stamp_ns = self._simulation.state().stamp_ns
        if self._thread is None:
            self._draw(stamp_ns, self._simulation.data)
        elif self._drawing is None or self._drawing.done():
            if self._drawing is not None:
                self._drawing.result()  # raises what went wrong
            self._copy.qpos[:] = self._simulation.data.qpos
            self._drawing = self._thread.submit(self._draw, stamp_ns, self._copy)

    def _draw(self, stamp_ns: int, data: mujoco.MjData) -> None:
        if self._seen is None or self._seen[0] != stamp_ns:
            self._seen = (stamp_ns, self._rig.render(data))
        for name, pixels in self._seen[1].items():
            self._cameras[name].publish(stamp_ns, pixels)

    def close(self) -> None:
        """Frees the renderer."""
        if self._thread is None:
            self._rig.close()
        else:
            self._thread.submit(self._rig.close).result()
            self._thread.shutdown()


class _Camera:
    """One camera's topics."""

    def __init__(self, node: Node, name: str, matrix: np.ndarray) -> None:
        self._frame_id = f"camera_{name}_color_optical_frame"
        self._matrix = matrix
        topic = f"camera/{name}/color"
        self._images = node.create_publisher(Image, f"{topic}/image_raw", qos_profile_sensor_data)
        self._infos = node.create_publisher(
            CameraInfo, f"{topic}/camera_info", qos_profile_sensor_data
        )

    @property
    def is_heard(self) -> bool:
        return bool(self._images.get_subscription_count() or self._infos.get_subscription_count())

    def publish(self, stamp_ns: int, pixels: np.ndarray) -> None:
        """RGB, uint8 [H, W, 3]; without distortion."""
        header = Header(stamp=time_from_ns(stamp_ns), frame_id=self._frame_id)
        height, width, _ = pixels.shape
        image = Image(header=header, height=height, width=width, encoding="rgb8", step=3 * width)
        image.data.frombytes(pixels.tobytes())
        self._infos.publish(self._info(header, height, width))
        self._images.publish(image)

    def _info(self, header: Header, height: int, width: int) -> CameraInfo:
        info = CameraInfo(header=header, height=height, width=width, distortion_model="plumb_bob")
        info.d = [0.0] * 5
        info.k = self._matrix.reshape(-1)
        info.r = np.eye(3).reshape(-1)
        info.p = np.column_stack((self._matrix, np.zeros(3))).reshape(-1)
        return info
