"""Episodes out of a list of transitions, as SERL and HIL-SERL keep them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from serl_learner.data.imported_gripper import toggled
from serl_learner.data.keymap import BadMapping, KeyMap, describe
from serl_learner.data.serl_pickle import Transition
from serl_learner.episodes import Episode, stretch
from serl_learner.types import Record, Source

ACTOR = "import"


@dataclass(frozen=True)
class Reading:
    """How transitions become records.

    Attributes:
      keys: what becomes of their arrays.
      session: of the records, 16 bytes; see `session_of`.
      period: between two steps [s]: the file says nothing of time.
      clip: actions beyond [-1, 1] are clipped; else they are an error.
    """

    keys: KeyMap
    session: bytes
    period: float = 0.1
    clip: bool = False

    def episodes(self, transitions: Sequence[Transition]) -> list[Episode]:
        """Demonstrations in order.

        One ends where `dones` says so, and where the next observation is not that of the following
        transition: no transition of ours pairs one segment's with another's (D3). Its end is a
        success if its last reward is above 0; if it is none, it counts as a time limit whatever
        `masks` says, for SERL stores time limits as ends (D5). What is asked of a gripper becomes
        what it did, see `toggled`.

        Raises:
          BadMapping: an array is not there or of another size, or whether a gripper is open is
            not known; names the transition.
        """
        made: list[Episode] = []
        records: list[Record] = []
        seq, known = 0, True  # before the first transition a trajectory begins
        for index, transition in enumerate(transitions):
            try:
                records.append(self._record(transition, seq, len(made), len(records)))
                seq += 1
                if _ends(transitions, index):
                    final = self._observe(transition["next_observations"])
                    ended = toggled(self._ended(records, final), known)
                    made.append(stretch(ACTOR, self.session, ended))
                    records, seq, known = [], seq + 1, _is_done(transition)
            except BadMapping as error:
                raise BadMapping(f"transition {index}: {error}") from error
        return made

    def _record(self, transition: Transition, seq: int, episode: int, step: int) -> Record:
        action = self.keys.action.make(transition, "action")
        if np.abs(action).max() > 1.0 + 1e-6 and not self.clip:
            raise BadMapping(f"action {action.tolist()} is not in [-1, 1] (--clip clips it)")
        return Record(
            session=self.session,
            seq=seq,
            episode=episode,
            step=step,
            observation=self._observe(transition["observations"]),
            action=np.clip(action, -1.0, 1.0),
            reward=_number(transition["rewards"], "rewards"),
            source=Source.DEMO,
            stamp_ns=round(1e9 * self.period) * (seq + 1),
            actor_id=ACTOR,
        )

    def _ended(self, records: list[Record], final: dict[str, np.ndarray]) -> list[Record]:
        """With the flags of the end, and the final observation as a record of its own."""
        end = records[-1]
        success = end.reward > 0.0
        last = replace(
            end,
            seq=end.seq + 1,
            step=end.step + 1,
            observation=final,
            action=None,
            reward=0.0,
            last=True,
            success=success,
            stamp_ns=end.stamp_ns + round(1e9 * self.period),
        )
        return [*records[:-1], replace(end, terminated=success, truncated=not success), last]

    def _observe(self, observation: Any) -> dict[str, np.ndarray]:
        if not isinstance(observation, Mapping):
            raise BadMapping(f"its observation is a {type(observation).__name__}, not a dict")
        arrays = _flat(observation)
        return {key: column.make(arrays, key) for key, column in self.keys.observation.items()}


def session_of(content: bytes, keys: KeyMap, period: float, clip: bool) -> bytes:
    """16 bytes: 8 for what a file holds, 8 for how it is read. The same again for both the same."""
    said = repr((sorted(keys.observation.items()), keys.action, period, clip))
    parts = (content, said.encode())
    return b"".join(hashlib.sha256(part).digest()[:8] for part in parts)


def _number(value: Any, name: str) -> float:
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "buif":
        raise BadMapping(f"{name} is {array.dtype}{list(array.shape)}, expected one number")
    return float(array.item())


def _flat(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays by name, those of groups (`images`) among them."""
    arrays: dict[str, Any] = {}
    for name, value in observation.items():
        arrays |= _flat(value) if isinstance(value, Mapping) else {name: value}
    return arrays


def _ends(transitions: Sequence[Transition], index: int) -> bool:
    """Whether an episode ends with this transition."""
    here = transitions[index]
    if index + 1 == len(transitions) or _is_done(here):
        return True
    return not _same(here["next_observations"], transitions[index + 1]["observations"])


def _is_done(transition: Transition) -> bool:
    return bool(np.all(transition["dones"]))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_same(first[k], second[k]) for k in first)
    return bool(np.array_equal(first, second))


def mappable(transitions: Sequence[Transition]) -> str:
    """Arrays of the first observation and the action: what can be mapped."""
    first = transitions[0]
    observation = first["observations"]
    arrays = _flat(observation) if isinstance(observation, Mapping) else {}
    return describe(arrays | {"actions": first["actions"]})
