"""Stand-ins for the sim node, an expert and the learner node."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image
from std_msgs.msg import Header

from serl_actor.observation import KEYS
from serl_actor.task import TaskConfig
from serl_controllers.arm import ArmMode, ArmState
from serl_controllers.geometry import Pose
from serl_controllers.ros_arm import (
    pose_from_msg,
    pose_to_msg,
    state_to_msg,
    target_from_msg,
    time_from_ns,
)
from serl_controllers.ros_qos import (
    ACK,
    COMMAND,
    INTERVENTION,
    METRICS,
    PARAMS,
    STATE,
    STATUS,
    TRANSITIONS,
)
from serl_interfaces.msg import (
    ArmCommand,
    Intervention,
    Metrics,
    NodeStatus,
    PolicyParams,
    RobotState,
    Transition,
    TransitionAck,
)
from serl_interfaces.msg import Relabel as RelabelMessage
from serl_interfaces.srv import GetPolicyParams, ResetScene, SaveCheckpoint
from serl_learner.agents.config import SACConfig
from serl_learner.params_codec import encode
from serl_learner.policy import Policy
from serl_learner.ros_params import params_to_msg
from serl_learner.ros_records import record_from_msg, relabel_from_msg
from serl_learner.types import Entry, Record, Relabel, Source

FRAME = "fr3_link0"
PERIOD_NS = 100_000_000
DOWN = np.array((0.0, 0.0, 1.0, 0.0, 0.0, 0.0))


class FakeCamera:
    """A camera whose pictures are all of one colour, which counts them.

    `closed`: it has no pictures; `lost`: so many do not arrive.
    """

    def __init__(self, node: Node, name: str, size: int = 32) -> None:
        self.closed, self.lost, self.taken = False, 0, 0
        self.encoding = "rgb8"
        self._size = size
        topic = f"camera/{name}/color/image_raw"
        self._publisher = node.create_publisher(Image, topic, qos_profile_sensor_data)

    def shoot(self, stamp_ns: int) -> None:
        if self.closed:
            return
        if self.lost > 0:
            self.lost -= 1
            return
        self.taken += 1
        pixels = np.full((self._size, self._size, 3), self.taken % 256, np.uint8)
        self._publisher.publish(image_message(pixels, stamp_ns, self.encoding))


def image_message(pixels: np.ndarray, stamp_ns: int, encoding: str = "rgb8") -> Image:
    """As cameras publish it, the bytes as they are."""
    height, width = pixels.shape[:2]
    image = Image(height=height, width=width, encoding=encoding, step=pixels[0].nbytes)
    image.header.stamp = time_from_ns(stamp_ns)
    image.data.frombytes(pixels.tobytes())
    return image


class FakeSim(Node):
    """An arm that is at once where it is told to be; answers each command once it is its turn.

    `twist`: what its expert says to every state; None: there is no expert. `deaf`: so many
    commands are lost. `realtime`: publishes states by the clock as long as `alive`. `cameras`:
    their names; each takes a picture of every state.
    """

    def __init__(
        self, twist=None, deaf: int = 0, realtime: bool = False, cameras=(), **kwargs
    ) -> None:
        super().__init__("sim", **kwargs)
        self.cameras = {name: FakeCamera(self, name) for name in cameras}
        self.twist, self.deaf, self.realtime = twist, deaf, realtime
        self.alive, self.fixture = True, TaskConfig().target
        self.commands: list[tuple[int, Pose]] = []
        self._pose, self._seq, self._stamp = Pose.identity(), 0, 0
        self._states = self.create_publisher(RobotState, "arm/state", STATE)
        self._says = (
            self.create_publisher(Intervention, "intervention", INTERVENTION)
            if twist is not None
            else None
        )
        self.create_subscription(ArmCommand, "arm/command", self._on_command, COMMAND)
        self.create_service(ResetScene, "reset_scene", self._on_reset)
        if realtime:
            self.create_timer(0.01, self._tick)

    def state(self) -> ArmState:
        zero = np.zeros(6)
        return ArmState(
            stamp_ns=self._stamp,
            command_seq=self._seq,
            tcp_pose=self._pose,
            tcp_twist=zero,
            wrench=zero,
            q=np.zeros(7),
            dq=np.zeros(7),
            tau_ext=np.zeros(7),
            gripper=0.0,
            mode=ArmMode.IMPEDANCE,
            commanded_pose=self._pose,
            error_clipped=np.zeros(6, bool),
            target_clipped=False,
            torque_saturated=False,
            rejected_commands=0,
        )

    def _publish(self) -> RobotState:
        for camera in self.cameras.values():
            camera.shoot(self._stamp)
        message = state_to_msg(self.state(), FRAME)
        self._states.publish(message)
        if self._says is not None:
            stamp = time_from_ns(self._stamp)
            self._says.publish(
                Intervention(
                    header=Header(stamp=stamp, frame_id="tcp"),
                    state_stamp=stamp,
                    active=True,
                    twist=self.twist,
                    device="fake expert",
                )
            )
        return message

    def _on_command(self, message: ArmCommand) -> None:
        seq = int(message.command_seq)
        self.commands.append((seq, target_from_msg(message, FRAME).pose))
        if self.deaf > 0:
            self.deaf -= 1
            return
        if self.realtime or seq == self._seq + 1:
            self._pose, self._seq = self.commands[-1][1], seq
            self._stamp += 0 if self.realtime else PERIOD_NS
        if not self.realtime:
            self._publish()

    def _on_reset(self, request, response):
        self._pose, self._seq = pose_from_msg(request.start), 0
        self._stamp += PERIOD_NS
        response.success, response.state = True, self._publish()
        response.fixture = pose_to_msg(self.fixture)
        return response

    def _tick(self) -> None:
        if self.alive:
            self._stamp += PERIOD_NS // 10
            self._publish()


class Ear(Node):
    """Hears what the actor says of itself."""

    def __init__(self, name: str = "ear", **kwargs) -> None:
        super().__init__(name, **kwargs)
        self.statuses: list[NodeStatus] = []
        self.metrics: dict[str, float] = {}
        self.create_subscription(NodeStatus, "status", self._on_status, STATUS)
        self.create_subscription(Metrics, "metrics", self._on_metrics, METRICS)

    @property
    def phase(self) -> str:
        return self.statuses[-1].phase if self.statuses else ""

    def said(self, waiting_for: str) -> bool:
        return any(waiting_for in status.waiting_for for status in self.statuses)

    def _on_status(self, message: NodeStatus) -> None:
        if message.node == "actor":
            self.statuses.append(message)

    def _on_metrics(self, message: Metrics) -> None:
        self.metrics.update(zip(message.names, message.values, strict=True))


class FakeLearner(Ear):
    """Takes entries in order, acks them, and serves an untrained policy; hears what is said.

    `records` are those of all sessions as they were taken; `refusals`: so many requests to save
    are refused; `durable`: what is received counts as on disk; `held`: demonstrations, without any
    of which an actor acts by chance if it looks before the policy has come. `policy`: of another
    layout than of observations without images.
    """

    def __init__(
        self,
        credit: int = 10**6,
        damaged: bool = False,
        held: int = 1,
        refusals: int = 0,
        durable: bool = True,
        policy: Policy | None = None,
        **kwargs,
    ) -> None:
        super().__init__("learner", **kwargs)
        self.credit, self.held, self.refusals, self.durable = credit, held, refusals, durable
        self.records: list[Record] = []
        self.sessions: dict[bytes, list[Entry]] = {}
        self.saves: list[int] = []
        self.fetches = self.duplicates = 0
        self._speaker: Entry | None = None
        spec = dict.fromkeys(KEYS, ((6,), "float32"))
        policy = policy or Policy(spec, 6, SACConfig(hidden=(8,)))
        self._params = params_to_msg(encode(policy.template, 1, 0, policy.layout_hash))
        published = params_to_msg(encode(policy.template, 1, 0, policy.layout_hash))
        if damaged:
            published.data[-1] ^= 1
        self._acks = self.create_publisher(TransitionAck, "transitions/ack", ACK)
        self._publisher = self.create_publisher(PolicyParams, "policy_params", PARAMS)
        self._publisher.publish(published)
        self.create_subscription(
            Transition, "transitions", lambda m: self._take(record_from_msg(m)), TRANSITIONS
        )
        self.create_subscription(
            RelabelMessage,
            "transitions/relabel",
            lambda m: self._take(relabel_from_msg(m)),
            TRANSITIONS,
        )
        self.create_service(GetPolicyParams, "get_policy_params", self._on_fetch)
        self.create_service(SaveCheckpoint, "save_checkpoint", self._on_save)
        self.create_timer(0.2, self.ack)
        self.ack()

    def of(self, source: Source) -> list[Record]:
        return [record for record in self.records if record.source is source]

    def relabels(self) -> list[Relabel]:
        return [e for entries in self.sessions.values() for e in entries if isinstance(e, Relabel)]

    def ack(self) -> None:
        message = TransitionAck(demonstrations=self.held, credit=self.credit)
        if self._speaker is not None:
            message.actor_id = self._speaker.actor_id
            message.session = np.frombuffer(self._speaker.session, np.uint8)
            message.received_seq = len(self.sessions[self._speaker.session])
            message.next_seq = message.received_seq if self.durable else 0
        self._acks.publish(message)

    def _take(self, entry: Entry) -> None:
        self._speaker = entry
        taken = self.sessions.setdefault(entry.session, [])
        self.duplicates += entry.seq < len(taken)
        if entry.seq == len(taken):
            taken.append(entry)
            if isinstance(entry, Record):
                self.records.append(entry)
                self.held += entry.last and entry.success and entry.source is Source.DEMO
        self.ack()

    def _on_fetch(self, request, response):
        self.fetches += 1
        response.available, response.params = True, self._params
        return response

    def _on_save(self, request, response):
        if self.refusals > 0:
            self.refusals -= 1
            response.message = f"version {request.policy_version} is not kept"
            return response
        self.saves.append(int(request.policy_version))
        response.success = True
        return response
