"""The reset_scene service of a simulated robot, called from the rollout's thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rclpy.node import Node

from serl_actor.robot_client import ResetRefused, StaleState
from serl_controllers.arm import ArmState
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import pose_from_msg, pose_to_msg, state_from_msg
from serl_interfaces.srv import ResetScene

FIRST_TIMEOUT = 1.0
"""For an answer to the first request; then it is asked again [s]."""


class SceneReset:
    """Asks for a reset and waits for the answer; the executor's thread receives it.

    Attributes:
      fixture: where it is since the last reset, T_base_fixture; None before the first.
    """

    def __init__(self, node: Node, timeout: float, waiting: Callable[[str], None]) -> None:
        """`timeout` [s] for an answer; `waiting` hears what takes long and may raise to cancel."""
        self._client = node.create_client(ResetScene, "reset_scene")
        self._timeout = timeout
        self._waiting = waiting
        self.fixture: Pose | None = None

    def reset(self, start: Pose, seed: int) -> ArmState:
        """The first state of a new scene with the tool at `start`, T_base_tcp.

        Waits for the simulator to appear.

        Raises:
          ResetRefused: says why.
          StaleState: the simulator is there, but did not answer in time.
        """
        while not self._client.wait_for_service(timeout_sec=0.25):
            self._waiting("the sim (service reset_scene)")
        request = ResetScene.Request(
            seed=seed, randomise=True, has_start=True, start=pose_to_msg(start)
        )
        response = self._call(request, min(FIRST_TIMEOUT, self._timeout))
        if response is None:  # the answer to a client that has just appeared may be lost
            response = self._call(request, self._timeout)
        if response is None:
            raise StaleState(f"no answer to reset_scene within {self._timeout} s", "the sim")
        if not response.success:
            raise ResetRefused(f"reset_scene refused: {response.message}")
        self.fixture = pose_from_msg(response.fixture)
        return state_from_msg(response.state)

    def _call(self, request: ResetScene.Request, timeout: float) -> ResetScene.Response | None:
        """The answer, or None after `timeout` [s]. The same request twice does the same."""
        done = threading.Event()
        future = self._client.call_async(request)
        future.add_done_callback(lambda _: done.set())
        deadline = time.monotonic() + timeout
        while not done.wait(0.25):
            if time.monotonic() > deadline:
                self._client.remove_pending_request(future)
                return None
            self._waiting("the sim (an answer to reset_scene)")
        return future.result()
