"""A node in place of the actor: sends commands, hears everything."""

from __future__ import annotations

import time

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from std_srvs.srv import Trigger

from serl_controllers.arm import ArmTarget
from serl_controllers.ros_arm import pose_to_msg, state_from_msg, target_to_msg
from serl_controllers.ros_qos import COMMAND, INTERVENTION, METRICS, STATE, STATUS
from serl_interfaces.msg import ArmCommand, Intervention, Metrics, NodeStatus, RobotState
from serl_interfaces.srv import ResetScene

FRAME = "fr3_link0"


class Probe(Node):
    """Keeps all it hears, newest last."""

    def __init__(self, bench, name: str = "actor", **kwargs) -> None:
        super().__init__(name, **kwargs)
        self.bench = bench
        self.states, self.statuses, self.metrics = [], [], []
        self.interventions, self.connectors, self.fixtures = [], [], []
        self.commands = self.create_publisher(ArmCommand, "arm/command", COMMAND)
        self.resets = self.create_client(ResetScene, "reset_scene")
        self.recovers = self.create_client(Trigger, "arm/recover")
        self.create_subscription(RobotState, "arm/state", self._on_state, STATE)
        self.create_subscription(NodeStatus, "status", self.statuses.append, STATUS)
        self.create_subscription(Metrics, "metrics", self.metrics.append, METRICS)
        self.create_subscription(
            Intervention, "intervention", self.interventions.append, INTERVENTION
        )

    def listen_to_connector(self) -> None:
        self.create_subscription(PoseStamped, "sim/connector_pose", self.connectors.append, STATE)

    def listen_to_fixture(self) -> None:
        self.create_subscription(PoseStamped, "scene/fixture", self.fixtures.append, STATE)

    def _on_state(self, message: RobotState) -> None:
        self.states.append(state_from_msg(message))

    def wait_for_sim(self) -> None:
        self.bench.wait(
            lambda: (
                self.resets.service_is_ready()
                and self.commands.get_subscription_count()
                and self.count_publishers("arm/state")
            ),
            "the sim node",
        )

    def call(self, client, request):
        """Calls until an answer comes: one to a client just discovered may get lost."""
        futures = []
        while not any(f.done() for f in futures):
            asked = time.monotonic()
            futures.append(client.call_async(request))
            self.bench.wait(
                lambda t=asked: any(f.done() for f in futures) or time.monotonic() > t + 2.0,
                f"an answer of {client.srv_name}",
            )
        return next(f for f in futures if f.done()).result()

    def reset(self, seed=0, start=None, randomise=True) -> ResetScene.Response:
        request = ResetScene.Request(seed=seed, randomise=randomise, has_start=start is not None)
        if start is not None:
            request.start = pose_to_msg(start)
        return self.call(self.resets, request)

    def send(self, pose, seq: int, frame: str = FRAME) -> None:
        self.commands.publish(target_to_msg(ArmTarget(pose), seq, 0, frame))

    def step(self, pose, seq: int):
        """Sends a command and returns the state that answers it."""
        self.send(pose, seq)
        return self.next_state(lambda state: state.command_seq == seq)

    def next_state(self, condition=lambda _: True):
        """The first state from now on that fulfils the condition."""
        first = len(self.states)
        return self.bench.wait(
            lambda: next((s for s in self.states[first:] if condition(s)), None), "a state"
        )

    def wait_for_status(self, condition, what: str) -> NodeStatus:
        return self.bench.wait(
            lambda: next((s for s in reversed(self.statuses) if condition(s)), None), what
        )
