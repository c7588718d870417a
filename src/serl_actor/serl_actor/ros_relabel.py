"""The `relabel` service: a late verdict over steps of a recent episode."""

from __future__ import annotations

import math

from rclpy.node import Node

from serl_actor.episode_index import UnknownSteps
from serl_actor.recorder import Recorder
from serl_actor.transition_sender import SenderError
from serl_interfaces.srv import RelabelSteps


class RelabelService:
    """Puts verdicts into the same sequence as the records."""

    def __init__(self, node: Node, recorder: Recorder) -> None:
        self._node = node
        self._recorder = recorder
        node.create_service(RelabelSteps, "relabel", self._on_request)

    def _on_request(
        self, request: RelabelSteps.Request, response: RelabelSteps.Response
    ) -> RelabelSteps.Response:
        steps = (int(request.first_step), int(request.last_step))
        stamp_ns = self._node.get_clock().now().nanoseconds
        try:
            if not math.isfinite(request.reward):
                raise ValueError(f"reward {request.reward} is not finite")
            relabel = self._recorder.relabel(
                int(request.episode), steps, request.reward, request.terminated, stamp_ns
            )
        except (UnknownSteps, SenderError, ValueError) as error:
            response.message = str(error)
            return response
        response.success = True
        response.message = (
            f"relabel {relabel.seq} of records {relabel.first_seq}..{relabel.last_seq}"
        )
        return response
