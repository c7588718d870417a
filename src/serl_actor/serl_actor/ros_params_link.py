"""Policy parameters from the learner: as published, or fetched if what came cannot be used."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from serl_actor.policy_source import PolicySource
from serl_controllers.ros_qos import PARAMS
from serl_interfaces.msg import PolicyParams
from serl_interfaces.srv import GetPolicyParams
from serl_learner.params_codec import CorruptParams, ParamsError
from serl_learner.ros_params import params_from_msg

FETCH_TIMER = 0.25
"""Between two looks at whether something is to be fetched [s]."""

FETCH_TIMEOUT = 2.0
"""A fetch without an answer for so long is made again [s]."""

SILENCE = 2.0
"""A learner that is there and has published nothing for so long is asked [s]."""


class ParamsLink:
    """Offers parameters to the policy source; damaged ones are fetched until good ones are here.

    They are large, so they are decoded in a thread of their own: the newest that came, one at a
    time.
    """

    def __init__(
        self,
        node: Node,
        source: PolicySource,
        present: Callable[[], bool],
        arrived: Callable[[], None] = lambda: None,
    ) -> None:
        """`present`: the learner is there; `arrived` is called after new parameters."""
        self._node = node
        self._source = source
        self._present = present
        self._arrived = arrived
        self._lock = threading.Lock()
        self._fetch_lock = threading.Lock()
        self._waiting: tuple[PolicyParams, bool] | None = None
        self._damaged_version: int | None = None
        self._fetching: Future | None = None
        self._fetch_again = time.monotonic() + SILENCE
        self._client = node.create_client(GetPolicyParams, "get_policy_params")
        node.create_subscription(PolicyParams, "policy_params", self._on_params, PARAMS)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(FETCH_TIMER, self._fetch_missing, clock=steady)

    def _on_params(self, message: PolicyParams, fetched: bool = False) -> None:
        with self._lock:
            self._waiting = message, fetched
            if self._source.arriving:
                return
            self._source.arriving = True
        threading.Thread(target=self._decode, name="params", daemon=True).start()

    def _decode(self) -> None:
        while True:
            with self._lock:
                waiting, self._waiting = self._waiting, None
                self._source.arriving = waiting is not None
            if waiting is None:
                self._arrived()
                return
            try:
                self._offer(*waiting)
            except BaseException:
                self._source.arriving = False  # this thread ends; the next parameters have another
                raise

    def _offer(self, message: PolicyParams, fetched: bool) -> None:
        try:
            self._source.offer(params_from_msg(message))
        except CorruptParams as error:
            self._node.get_logger().error(f"policy parameters refused, fetched again: {error}")
            self._damaged_version = max(self._damaged_version or 0, int(message.version))
            if not fetched:  # what was fetched and is damaged has its next try after a while
                self._fetch_again = time.monotonic()
                self._fetch_missing()
        except ParamsError as error:
            self._node.get_logger().error(
                f"policy parameters refused: {error}", throttle_duration_sec=5.0
            )

    def _fetch_missing(self) -> None:
        """Fetches if nothing good has come in place of what was damaged, or nothing at all."""
        newest = self._source.newest_version
        damaged = self._damaged_version is not None and newest < self._damaged_version
        missing = damaged or (newest == 0 and self._present())
        with self._fetch_lock:
            now = time.monotonic()
            if not missing or now < self._fetch_again or not self._client.service_is_ready():
                return
            if self._fetching is not None:
                self._client.remove_pending_request(self._fetching)
            self._fetch_again = now + FETCH_TIMEOUT
            self._fetching = self._client.call_async(GetPolicyParams.Request(newer_than=newest))
            self._fetching.add_done_callback(self._on_fetched)

    def _on_fetched(self, future: Future) -> None:
        response = future.result()
        if response is not None and response.available:
            self._on_params(response.params, fetched=True)
