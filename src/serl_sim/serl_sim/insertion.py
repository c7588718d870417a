"""The scene of an insertion: a plug in the hand, a socket on a board."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from serl_controllers.geometry import Pose
from serl_sim.config import SceneConfig
from serl_sim.fixture import add_fixture, set_fixture
from serl_sim.geoms import TABLE_RGBA, add_visual_box
from serl_sim.scene_kind import Arrangement, View
from serl_sim.tool import replace_hand, set_in_hand_offset

GRIPPER_OPENING = 0.1
"""Of the hand closed on the plug, 0 closed .. 1 open; commands do not move it."""

_IN_HAND_STREAM, _SOCKET_STREAM = 1, 3
"""Keep draws with the same seed apart; the expert has a stream too."""

# Where a camera stands from the target, the height above it that is in its middle [m], and its
# angle of view [deg].
_CAMERAS: dict[str, tuple[tuple[float, float, float], float, float]] = {
    "side": ((0.19, -0.13, 0.17), 0.010, 24.0),
    "spectator": ((0.30, -0.16, 0.15), 0.03, 27.0),
}


class Insertion:
    """Implements scene_kind.SceneKind."""

    name = "pcb_insertion"
    part, place = "connector", "seat"
    intruder = "the plug is {} deep in the fixture"

    def __init__(self, config: SceneConfig) -> None:
        self._config = config

    def add_hand(self, spec: mujoco.MjSpec) -> None:
        """Closed on the plug."""
        replace_hand(spec, self._config)

    def add_table(self, world: mujoco.MjsBody) -> None:
        """Only seen."""
        x, y, z = self._config.target_position
        add_visual_box(
            world, (x, y, 0.5 * (z - 0.012) - 0.2), (0.25, 0.3, 0.5 * (z - 0.012) + 0.2), TABLE_RGBA
        )

    def add_fixture(self, spec: mujoco.MjSpec) -> None:
        """Board and socket."""
        add_fixture(spec, self._config)

    def views(self) -> dict[str, View]:
        """About the target."""
        x, y, z = self._config.target_position
        return {
            name: View((x + offset[0], y + offset[1], z + offset[2]), (x, y, z + height), fovy)
            for name, (offset, height, fovy) in _CAMERAS.items()
        }

    def draw(self, seed: int | None) -> Arrangement:
        """Where the socket is, and how the plug sits in the hand."""
        if seed is None:
            return Arrangement(self._config.target)
        return Arrangement(self._draw_fixture(seed), self._draw_offset(seed))

    def arrange(self, model: mujoco.MjModel, arrangement: Arrangement) -> None:
        """Plug and socket are moved in the model."""
        set_in_hand_offset(model, arrangement.in_hand)
        set_fixture(model, arrangement.fixture)

    def rest(self, data: mujoco.MjData, arrangement: Arrangement) -> None:
        """There are no joints but the arm's."""

    def command(self, data: mujoco.MjData, opening: float) -> None:
        """The hand holds the plug whatever it is told."""

    def opening(self, data: mujoco.MjData) -> float:
        """That of the hand on the plug."""
        return GRIPPER_OPENING

    def object(self, data: mujoco.MjData) -> Pose | None:
        """Nothing lies about."""
        return None

    def part_pose(self, data: mujoco.MjData, tool: Pose, arrangement: Arrangement) -> Pose:
        """Of the plug's tip: what the arm does not know."""
        return tool @ arrangement.in_hand

    def _draw_offset(self, seed: int) -> Pose:
        """T_tcp_plug: uniform in a disc across the plug, and a turn about a random axis."""
        rng = np.random.default_rng((seed, _IN_HAND_STREAM))
        radius = self._config.in_hand_offset_m * math.sqrt(rng.uniform())
        direction = rng.uniform(0.0, 2.0 * math.pi)
        axis = rng.normal(size=3)
        angle = math.radians(self._config.in_hand_offset_deg) * rng.uniform()
        return Pose.from_rotation_vector(
            (radius * math.cos(direction), radius * math.sin(direction), 0.0),
            angle * axis / np.linalg.norm(axis),
        )

    def _draw_fixture(self, seed: int) -> Pose:
        """T_base_fixture: uniform in a square about the target, not turned."""
        rng = np.random.default_rng((seed, _SOCKET_STREAM))
        x, y = self._config.socket_random_xy * rng.uniform(-1.0, 1.0, 2)
        target = self._config.target
        return Pose(target.position + target.rotate((x, y, 0.0)), target.quaternion)
