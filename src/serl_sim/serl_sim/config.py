"""What the simulated scene is made of; every figure of it has its default here."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from serl_controllers.geometry import Pose

KINDS = ("insertion", "pick")
"""Of scenes."""

LARGEST_MOVE = 0.05
"""Of the fixture: farther off it would leave the table [m]."""

OPEN_WIDTH = 0.096
"""Of the open gripper with its fingers, along y of the fixture frame [m]."""

LARGEST_BLOCK = 0.06
"""That the gripper gets around with some room [m]."""

_POSITIVE = (
    "clearance",
    "slot_depth",
    "wall_thickness",
    "physics_period",
    "block_size",
    "block_mass",
    "pad_height",
    "pad_size",
    "grip_force",
)


class SceneError(ValueError):
    """A scene that cannot be built or reset; the message shows the value and the limit."""


@dataclass(frozen=True)
class SceneConfig:
    """An FR3 and its task: it holds a connector (the plug) over a socket on a board (insertion),
    or is to put a block that lies on a table onto a pad (pick).

    Attributes:
      kind: insertion or pick.
      target_position: tcp when the plug is seated, base frame [m]. The fixture's frame is the
        tcp's there: origin at the middle of the slot's bottom, z down into the board. In a pick
        scene, tcp when the block is in place: origin in the block's middle.
      target_rpy: its roll, pitch, yaw about the fixed axes of the base [rad].
      start_height: nominal start above the target, along the base's z [m].
      plug_size: width (x), depth (y) and free length (z) of the plug [m].
      clearance: gap between the centred plug and each wall of the slot [m].
      slot_depth: from the fixture's top to the board [m].
      chamfer: width and depth of the 45 degree lead-in along the slot's edges [m]; 0 is none.
      wall_thickness: of the fixture around the slot [m].
      socket_random_xy: at each reset the fixture is moved along its x and y, either way by this
        much at most [m].
      in_hand_offset_m: hidden lateral offset of the plug in the hand: radius of a disc [m].
      in_hand_offset_deg: hidden rotation of the plug about a random axis, at most [deg].
      friction: sliding friction between plug and fixture.
      block_size: edge of the block, a cube [m].
      block_mass: of the block [kg].
      block_friction: sliding friction between block, fingers, pad and table.
      block_offset: where the block lies on average: x and y of the fixture frame of a pad that
        was not moved [m].
      block_random_xy: at each reset it lies farther along x and y, either way by this much at
        most [m].
      pad_height: of the pad over the table [m].
      pad_size: its width and depth [m].
      grip_force: of each finger at most [N].
      joint_friction_scale: share of the model's joint friction that is left. The model's
        friction would eat most of the impedance law's force; real arms compensate theirs.
      physics_period: one tick [s].
      home: joint positions from which the start pose is searched [rad].
      mesh_visuals: draw the arm's meshes, for pictures; slow without a GPU.
    """

    kind: str = KINDS[0]
    target_position: tuple[float, float, float] = (0.5669, 0.0021, 0.0536)
    target_rpy: tuple[float, float, float] = (3.1280, 0.0177, 0.0213)
    start_height: float = 0.04
    plug_size: tuple[float, float, float] = (0.016, 0.008, 0.010)
    clearance: float = 0.0005
    slot_depth: float = 0.008
    chamfer: float = 0.0003
    wall_thickness: float = 0.010
    socket_random_xy: float = 0.0
    in_hand_offset_m: float = 0.001
    in_hand_offset_deg: float = 1.0
    friction: float = 0.3
    block_size: float = 0.03
    block_mass: float = 0.05
    block_friction: float = 1.0
    block_offset: tuple[float, float] = (0.0, 0.115)
    block_random_xy: float = 0.025
    pad_height: float = 0.02
    pad_size: float = 0.06
    grip_force: float = 15.0
    joint_friction_scale: float = 0.1
    physics_period: float = 0.001
    home: tuple[float, ...] = (0.0, 0.13, 0.0, -2.31, 0.0, 2.44, math.pi / 4)
    mesh_visuals: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SceneError(f"kind is {self.kind!r}, expected {' or '.join(KINDS)}")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str):
                continue
            for number in value if isinstance(value, tuple) else (value,):
                if not math.isfinite(number):
                    raise SceneError(f"{field.name} is {value}, expected finite numbers")
            if field.name in _POSITIVE and value <= 0.0:
                raise SceneError(f"{field.name} is {value}, expected more than 0")
            if isinstance(value, float) and value < 0.0:
                raise SceneError(f"{field.name} is {value}, expected at least 0")
        if self.socket_random_xy > LARGEST_MOVE:
            raise SceneError(
                f"socket_random_xy is {self.socket_random_xy} m, expected at most {LARGEST_MOVE} m"
            )
        if len(self.home) != 7:
            raise SceneError(f"home has {len(self.home)} values, expected 7")
        if min(self.plug_size) <= 0.0:
            raise SceneError(f"plug_size is {self.plug_size}, expected more than 0")
        if self.chamfer >= self.slot_depth:
            raise SceneError(f"chamfer is {self.chamfer} m, slot_depth only {self.slot_depth} m")
        if self.slot_depth > self.plug_size[2]:
            raise SceneError(
                f"slot_depth is {self.slot_depth} m, the plug's free length {self.plug_size[2]} m: "
                "the fingers would reach into the slot"
            )
        self._check_block()

    def _check_block(self) -> None:
        if self.block_size > LARGEST_BLOCK:
            raise SceneError(
                f"block_size is {self.block_size} m, expected at most {LARGEST_BLOCK} m: the "
                "gripper opens 0.08 m"
            )
        # Fingers come down on either side along y; across, the block itself is wider than they.
        x, y = (abs(v) - self.block_random_xy - 0.5 * self.pad_size for v in self.block_offset)
        room = max(x - 0.5 * self.block_size, y - 0.5 * OPEN_WIDTH)
        if self.kind == "pick" and room < self.socket_random_xy:
            raise SceneError(
                f"block_offset is {self.block_offset} m with block_random_xy "
                f"{self.block_random_xy} m: that leaves {room:.4g} m between the pad and what goes "
                f"around the block, expected at least socket_random_xy, {self.socket_random_xy} m"
            )

    @property
    def target(self) -> Pose:
        """Pose of the tcp with the plug seated in a fixture that was not moved: T_base_fixture."""
        return Pose.from_rpy(self.target_position, self.target_rpy)

    @property
    def nominal_start(self) -> Pose:
        """Pose of the tcp above the target, T_base_tcp."""
        x, y, z = self.target_position
        return Pose.from_rpy((x, y, z + self.start_height), self.target_rpy)


@dataclass(frozen=True)
class CamerasConfig:
    """What the robot's cameras see.

    Attributes:
      names: cameras of the scene; none: nothing is drawn.
      width, height: of an image [pixels].
      fps: images per second of each camera in real time; in lockstep every state has its own.
      randomise: light and colours are drawn anew for every episode.
    """

    names: tuple[str, ...] = ()
    width: int = 128
    height: int = 128
    fps: float = 30.0
    randomise: bool = True

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise SceneError(f"names are {self.names}, expected each camera once")
        for name in ("width", "height"):
            value = getattr(self, name)
            if not 16 <= value <= 1280:
                raise SceneError(f"{name} is {value}, expected 16 .. 1280 pixels")
        if not 1.0 <= self.fps <= 100.0:
            raise SceneError(f"fps is {self.fps} Hz, expected 1 .. 100")


@dataclass(frozen=True)
class FilmConfig:
    """Films of episodes.

    Attributes:
      directory: where they go; empty: none are made, and nothing is drawn.
      fps: pictures per simulated second.
      width, height: of a picture [pixels].
      samples: per pixel, to smooth edges; 4 takes three times as long without a GPU.
      end_s: how long the last picture stands, with the outcome [s].
    """

    directory: str = ""
    fps: int = 20
    width: int = 640
    height: int = 480
    samples: int = 0
    end_s: float = 0.8

    def __post_init__(self) -> None:
        if not 1 <= self.fps <= 100:
            raise SceneError(f"fps is {self.fps}, expected 1 .. 100")
        for name in ("width", "height"):
            value = getattr(self, name)
            if not 240 <= value <= 1920 or value % 2:
                raise SceneError(f"{name} is {value}, expected an even number in 240 .. 1920")
        if not 0 <= self.samples <= 16:
            raise SceneError(f"samples is {self.samples}, expected 0 .. 16")
        if not 0.0 <= self.end_s <= 60.0:
            raise SceneError(f"end_s is {self.end_s} s, expected 0 .. 60")
