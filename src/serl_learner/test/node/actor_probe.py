"""A node in place of the actor: sends records, keeps all it hears, newest last."""

from __future__ import annotations

import dataclasses

import numpy as np
from rclpy.node import Node

from serl_controllers.ros_qos import ACK, METRICS, PARAMS, STATUS, TRANSITIONS
from serl_interfaces.msg import Metrics, NodeStatus, PolicyParams, Transition, TransitionAck
from serl_interfaces.srv import GetPolicyParams, SaveCheckpoint
from serl_learner.ros_records import record_to_msg
from serl_learner.types import Record, Source

SESSION = bytes(range(16))
SMALL = {
    "action_dim": 2,
    "agent.hidden": [8],
    "agent.critics": 2,
    "batch_size": 8,
    "training_starts": 4,
    "publish_every": 2,
    "replay_bytes": 2**16,
    "prior_bytes": 2**16,
    "min_free_bytes": 0,
}
"""Parameters of a learner that compiles quickly."""
SPEC = {"state/pose": ((3,), "float32"), "state/twist": ((2,), "float32")}


class ActorProbe(Node):
    """Plays episodes of random records that obey the learner's credit."""

    def __init__(self, bench, session: bytes = SESSION, **kwargs) -> None:
        super().__init__("actor_probe", **kwargs)
        self.bench, self.session = bench, session
        self.seq = self.episodes = 0
        self.acks, self.params, self.metrics, self.statuses = [], [], [], []
        self.rng = np.random.default_rng(0)
        self.publisher = self.create_publisher(Transition, "transitions", TRANSITIONS)
        self.create_subscription(TransitionAck, "transitions/ack", self.acks.append, ACK)
        self.create_subscription(PolicyParams, "policy_params", self.params.append, PARAMS)
        self.create_subscription(Metrics, "metrics", self._on_metrics, METRICS)
        self.create_subscription(NodeStatus, "status", self.statuses.append, STATUS)
        self.fetch = self.create_client(GetPolicyParams, "get_policy_params")
        self.save = self.create_client(SaveCheckpoint, "save_checkpoint")

    def _on_metrics(self, message: Metrics) -> None:
        names = (name.removeprefix("learner/") for name in message.names)
        self.metrics.append(dict(zip(names, message.values, strict=True)))

    def wait_for_learner(self) -> None:
        self.bench.wait(lambda: self.publisher.get_subscription_count(), "the learner")
        self.bench.wait(lambda: self.acks, "a first acknowledgement")

    def wait_for_ack(self, condition, what: str) -> TransitionAck:
        return self.bench.wait(
            lambda: next((a for a in reversed(self.acks) if condition(a)), None), what
        )

    def wait_for_status(self, condition, what: str) -> NodeStatus:
        return self.bench.wait(lambda: next(filter(condition, self.statuses), None), what)

    def episode(self, length: int = 5, success: bool = False, **fields) -> list[Record]:
        """The next records of this session: `length` steps and the final observation."""
        records = [self._record(step, **fields) for step in range(length + 1)]
        self.episodes += 1
        end = {"action": None, "last": True, "success": success}
        records[-1] = dataclasses.replace(records[-1], **end)
        return records

    def _record(self, step: int, **fields) -> Record:
        observation = {
            key: self.rng.normal(size=shape).astype(dtype) for key, (shape, dtype) in SPEC.items()
        }
        action = self.rng.uniform(-1, 1, 2).astype(np.float32)
        numbers = (self.session, self.seq, self.episodes, step)
        self.seq += 1
        return Record(*numbers, observation, action, **fields)

    def publish(self, records) -> None:
        for record in records:
            self.publisher.publish(record_to_msg(record))

    def play(self, source: Source = Source.POLICY, **fields) -> TransitionAck:
        """One episode, in lockstep with the learner, until it is sealed."""
        for record in self.episode(source=source, **fields):
            self.wait_for_ack(lambda a, r=record: a.credit > r.seq and a is self.acks[-1], "credit")
            self.publish([record])
        return self.wait_for_ack(
            lambda a: bytes(a.session) == self.session and a.next_seq == self.seq,
            "a sealed episode",
        )

    def call(self, client, request):
        """The answer of a service."""
        self.bench.wait(client.service_is_ready, client.srv_name)
        future = client.call_async(request)
        self.bench.wait(future.done, f"an answer of {client.srv_name}")
        return future.result()
