"""Quality of service of every topic, in one place: publishers and subscribers cannot differ."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _profile(depth: int, *, reliable: bool = True, transient_local: bool = False) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL
        if transient_local
        else DurabilityPolicy.VOLATILE,
    )


TRANSITIONS_DEPTH = 512
"""Records kept for a slow reader; the actor's window of unacknowledged records stays below."""

TRANSITIONS = _profile(TRANSITIONS_DEPTH)
ACK = _profile(32, transient_local=True)  # one message per actor: deep enough for the fleet
PARAMS = _profile(1, transient_local=True)  # the latest wins; who comes late gets it at once
STATE = _profile(5, reliable=False)  # sensor data: an old state is worth nothing
COMMAND = _profile(5)
INTERVENTION = _profile(5)
REWARD = _profile(5)
METRICS = _profile(50)
STATUS = _profile(16, transient_local=True)  # one message per node
