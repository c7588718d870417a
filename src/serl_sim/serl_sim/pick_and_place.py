"""The scene of picking and placing: a block on a table, a pad to put it onto, an empty gripper."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from serl_controllers.geometry import Pose
from serl_sim import gripper
from serl_sim.config import SceneConfig
from serl_sim.geoms import BOX, TABLE_RGBA, touching
from serl_sim.scene_kind import Arrangement, View

BLOCK, PAD, TABLE = "block", "pad", "table"

_PAD_STREAM, _BLOCK_STREAM = 3, 5
"""Keep draws with the same seed apart; the expert, the person and the looks have streams too."""

_BLOCK_RGBA = (0.85, 0.16, 0.14, 1.0)
_PAD_RGBA = (0.10, 0.38, 0.72, 1.0)


class PickAndPlace:
    """Implements scene_kind.SceneKind.

    The fixture frame is the tcp's with the block held in its middle and put onto the pad, so that
    of a block in place: the block's own frame is in its middle and lies like the tool's, z down.
    Table, pad and block are level even if a tool that is configured a little aslant is not.
    """

    name = "pick_and_place"
    part, place = "block", "place"
    intruder = "something is {} deep in the gripper or what it stands on"

    def __init__(self, config: SceneConfig) -> None:
        self._config = config
        self._level = Pose.from_rpy(config.target_position, (math.pi, 0.0, config.target_rpy[2]))

    def add_hand(self, spec: mujoco.MjSpec) -> None:
        """With fingers that slide."""
        gripper.add_gripper(spec, self._config)

    def add_table(self, world: mujoco.MjsBody) -> None:
        """It bears the pad and the block."""
        (x, y, z), config = self._middle(), self._config
        top = z - config.pad_height - 0.5 * config.block_size
        world.add_geom(
            name=TABLE,
            type=BOX,
            pos=[x, y, top - 0.2],
            size=[0.25, 0.3, 0.2],
            rgba=TABLE_RGBA,
            **touching(config),
        )

    def add_fixture(self, spec: mujoco.MjSpec) -> None:
        """The pad, and the block beside it."""
        config = self._config
        half, height = 0.5 * config.block_size, config.pad_height
        pad = _add_body(spec, PAD, self._level)
        pad.add_geom(
            name=PAD,
            type=BOX,
            pos=[0, 0, half + 0.5 * height],
            size=[0.5 * config.pad_size, 0.5 * config.pad_size, 0.5 * height],
            rgba=_PAD_RGBA,
            **touching(config),
        )
        block = _add_body(spec, BLOCK, self._lying(np.zeros(2)))
        block.add_freejoint(name=BLOCK)
        block.add_geom(
            name=BLOCK,
            type=BOX,
            size=[half, half, half],
            mass=config.block_mass,
            rgba=_BLOCK_RGBA,
            **touching(config),
        )

    def views(self) -> dict[str, View]:
        """About the middle between block and pad."""
        x, y, z = self._middle()
        return {
            "side": View((x + 0.36, y - 0.10, z + 0.30), (x, y, z + 0.01), 42.0),
            "spectator": View((x + 0.48, y - 0.26, z + 0.26), (x, y, z + 0.05), 34.0),
        }

    def draw(self, seed: int | None) -> Arrangement:
        """Where the pad is, and where the block lies."""
        config = self._config
        if seed is None:
            return Arrangement(config.target, object=self._lying(np.zeros(2)))
        shift = config.socket_random_xy * _draw_square(seed, _PAD_STREAM)
        position = config.target.position + self._level.rotate((*shift, 0.0))
        fixture = Pose(position, config.target.quaternion)
        moved = config.block_random_xy * _draw_square(seed, _BLOCK_STREAM)
        return Arrangement(fixture, object=self._lying(moved))

    def arrange(self, model: mujoco.MjModel, arrangement: Arrangement) -> None:
        """The pad is moved in the model."""
        model.body(PAD).pos[:] = arrangement.fixture.position

    def rest(self, data: mujoco.MjData, arrangement: Arrangement) -> None:
        """The gripper open, the block where it was put."""
        gripper.place(data, 1.0)
        if arrangement.object is not None:
            pose = arrangement.object
            data.joint(BLOCK).qpos[:] = (*pose.position, *pose.quaternion[[3, 0, 1, 2]])

    def command(self, data: mujoco.MjData, opening: float) -> None:
        """Moves the fingers, as far as they get."""
        gripper.command(data, opening)

    def opening(self, data: mujoco.MjData) -> float:
        """Measured."""
        return gripper.opening(data)

    def object(self, data: mujoco.MjData) -> Pose:
        """The block."""
        qpos = data.joint(BLOCK).qpos
        return Pose(qpos[:3].copy(), qpos[[4, 5, 6, 3]])

    def part_pose(self, data: mujoco.MjData, tool: Pose, arrangement: Arrangement) -> Pose:
        """The block."""
        return self.object(data)

    def _lying(self, shift: np.ndarray) -> Pose:
        """T_base_block on the table, moved by `shift` [2] [m] from where it lies on average."""
        x, y = self._config.block_offset + shift
        level = self._level
        return Pose(
            level.position + level.rotate((x, y, self._config.pad_height)), level.quaternion
        )

    def _middle(self) -> tuple[float, float, float]:
        """Between the block and its place, at the height of the place."""
        (x, y, z), lying = self._config.target_position, self._lying(np.zeros(2)).position
        return (0.5 * (x + float(lying[0])), 0.5 * (y + float(lying[1])), z)


def _add_body(spec: mujoco.MjSpec, name: str, pose: Pose) -> mujoco.MjsBody:
    return spec.worldbody.add_body(
        name=name, pos=pose.position.tolist(), quat=pose.quaternion[[3, 0, 1, 2]].tolist()
    )


def _draw_square(seed: int, stream: int) -> np.ndarray:
    """Uniform in [-1, 1] each way, [2]."""
    return np.random.default_rng((seed, stream)).uniform(-1.0, 1.0, 2)
