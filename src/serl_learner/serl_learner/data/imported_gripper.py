"""The gripper of somebody else's episode: what was asked of it becomes what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from serl_learner.data.keymap import BadMapping
from serl_learner.gripper_hand import GRIPPER, GripperHand, observe_gripper
from serl_learner.types import Record

WITH_GRIPPER = 7
"""Numbers of an action whose last is a gripper's."""


def toggled(records: Sequence[Record], begins: bool) -> list[Record]:
    """The records of one episode, as the actor of a task that moves the gripper would store them.

    SERL and HIL-SERL store what was asked for, step by step, also of a gripper that is closed
    already. Here an action's seventh number is -1 where it closes, +1 where it opens, else 0; the
    gripper is open as an episode begins. If `state/gripper` is mapped, to the measured opening,
    what is commanded is put beside it. Actions of 6 numbers are left as they are.

    Args:
      records: in order, with the final one; `state/gripper` [1], 0 closed .. 1 open.
      begins: the first is the first of a trajectory; false: something before it is missing.

    Raises:
      BadMapping: it does not begin, so nobody knows whether the gripper is open; or
        `state/gripper` is no such number.
    """
    action = records[0].action
    if action is None or len(action) != WITH_GRIPPER:
        return list(records)
    if not begins:
        raise BadMapping(
            f"what comes before step 0 of episode {records[0].episode} is missing, so whether the "
            f"gripper is open is not known, and an action of {WITH_GRIPPER} numbers says what it "
            "does; cut the file there, or map 6 numbers (action: actions[0:6])"
        )
    hand = GripperHand(moves=True)
    return [_toggled(record, hand) for record in records]


def _toggled(record: Record, hand: GripperHand) -> Record:
    observation = dict(record.observation)
    if GRIPPER in observation:
        observation[GRIPPER] = _observed(observation[GRIPPER], hand)
    if record.action is None:
        return replace(record, observation=observation)
    action = record.action.copy()
    if np.isfinite(action[-1]):  # else it stays so, for what checks records to refuse
        action[-1] = hand.command(float(action[-1]))
    return replace(record, observation=observation, action=action)


def _observed(mapped: np.ndarray, hand: GripperHand) -> np.ndarray:
    if mapped.size != 1 or not 0.0 <= mapped.item() <= 1.0:
        raise BadMapping(
            f"{GRIPPER} is {mapped.tolist()}, expected one number, the measured opening, 0 closed "
            ".. 1 open (scale divides)"
        )
    assert hand.opening is not None
    return observe_gripper(mapped.item(), hand.opening)
