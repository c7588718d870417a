"""Turns the steps of episodes into numbered records, as in RLDS, and hands them to a sink."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from serl_actor.episode_index import EpisodeIndex, UnknownSteps
from serl_actor.transition_sender import QueueFull
from serl_learner.types import Observation, Record, Relabel, Source

Ready = Callable[[Record], None]
Notes = Callable[[], Observation]
SENT = "time/sent"
"""Among the extras of a step in real time: when its command was sent, int64 [] on the steady clock
[ns]."""
Sink = Callable[[Any], None]
"""Takes each Record; Relabels, too, if any are asked for."""


class Recorder:
    """Counts entries, episodes and steps of one session; `sink` takes each entry.

    `ready` sees a record first and may block: in lockstep it waits for the learner's credit, which
    is how the update-to-data ratio is kept. Numbers of entries have no gaps; those of episodes may.
    `notes` says what else is logged of each step that was just executed.
    """

    def __init__(
        self,
        session: bytes,
        actor_id: str,
        sink: Sink,
        ready: Ready = lambda record: None,
        notes: Notes = dict,
    ) -> None:
        self.session = session
        self.actor_id = actor_id
        self._sink = sink
        self._ready = ready
        self._notes = notes
        self._numbering = threading.Lock()
        self._seq = 0
        self._index = EpisodeIndex()
        self._begun = 0
        self._step = 0
        self._source = Source.POLICY
        self._version = 0
        self._hold = False
        self._held: list[Record] = []
        self._overruling = threading.Lock()
        self._solved: tuple[int, int, int] | None = None  # episode, first and last step
        self._went_on = False  # another episode has a step since

    @property
    def next_seq(self) -> int:
        """Number of the next entry."""
        return self._seq

    def begin(self, hold: bool = False) -> None:
        """A new episode; with `hold` nothing leaves before it has succeeded."""
        self._hold = hold
        self._held.clear()
        self._begin_segment()

    def step(
        self,
        observation: Observation,
        action: np.ndarray,
        reward: float,
        terminated: bool,
        truncated: bool,
        source: Source,
        policy_version: int,
        stamp_ns: int,
        extras: Observation | None = None,
    ) -> None:
        """One executed step: o_t, a_t as executed [A], r_t and its flags; `extras` are of o_t."""
        with self._overruling:
            self._went_on = True
        self._source, self._version = source, policy_version
        self._put(
            observation,
            stamp_ns,
            action=action,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            extras={**(extras or {}), **self._notes()},
        )
        self._step += 1

    def cut(
        self, observation: Observation, stamp_ns: int, extras: Observation | None = None
    ) -> None:
        """The next step is not for the record: what was recorded until now ends here.

        The rest of the episode counts as an episode of its own, so that no transition reaches
        over the gap (D3).
        """
        if self._step:
            self._put(observation, stamp_ns, action=None, last=True, extras=extras or {})
            self._begin_segment()

    def end(
        self,
        observation: Observation,
        success: bool,
        aborted: bool,
        stamp_ns: int,
        extras: Observation | None = None,
        solved_steps: int = 1,
    ) -> None:
        """The final observation of the episode, a record of its own; none if nothing was executed.

        A held episode is passed on now if it succeeded, else forgotten. A success that was believed
        only after some frames in a row is one since the first of them: of its `solved_steps`, which
        end the episode, those that were recorded without a reward get it now, as a Relabel; if the
        sink has no room for that, the last one alone keeps its reward.
        """
        held, self._held = self._held, []
        if self._hold and not success:
            return
        self._hold = False
        for record in held:
            self._pass_on(record)
        if not self._step:
            return
        episode, last = self._begun - 1, self._step - 1
        first = max(0, last + 1 - max(solved_steps, 1))
        if success and first < last:
            try:
                self.relabel(episode, (first, last - 1), 1.0, True, stamp_ns)
            except QueueFull:
                first = last
        self._put(
            observation,
            stamp_ns,
            action=None,
            last=True,
            success=success,
            aborted=aborted,
            extras=extras or {},
        )
        if success:
            with self._overruling:
                self._solved, self._went_on = (episode, first, last), False

    def _begin_segment(self) -> None:
        self._begun += 1
        self._step = 0

    def _put(self, observation: Observation, stamp_ns: int, **fields: object) -> None:
        record = Record(
            session=self.session,
            seq=0,  # given when it is passed on
            episode=self._begun - 1,
            step=self._step,
            observation=observation,
            source=self._source,
            policy_version=self._version,
            stamp_ns=stamp_ns,
            actor_id=self.actor_id,
            **fields,  # type: ignore[arg-type]
        )
        if self._hold:
            self._held.append(record)
        else:
            self._pass_on(record)

    def relabel(
        self, episode: int, steps: tuple[int, int], reward: float, terminated: bool, stamp_ns: int
    ) -> Relabel:
        """A late verdict over the steps of a recent episode, first and last inclusive.

        From any thread; passed on like a record. Raises UnknownSteps, or what the sink does.
        """
        first_seq, last_seq = self._index.find(episode, *steps)
        with self._numbering:
            relabel = Relabel(
                session=self.session,
                seq=self._seq,
                first_seq=first_seq,
                last_seq=last_seq,
                reward=reward,
                terminated=terminated,
                stamp_ns=stamp_ns,
                actor_id=self.actor_id,
            )
            self._sink(relabel)
            self._seq += 1
        return relabel

    def overrule(self, stamp_ns: int) -> Relabel:
        """The last success was none: the steps that were rewarded for it are so no longer.

        Only until the next episode has a step: then it may be that one that is meant. From any
        thread; raises UnknownSteps, or what the sink does.
        """
        with self._overruling:
            if self._solved is None:
                raise UnknownSteps("there is no success that is not overruled")
            episode, first, last = self._solved
            if self._went_on:
                raise UnknownSteps(
                    f"the success of episode {episode} is not the last episode's any more: only "
                    f"the service relabel takes it back, of steps {first}..{last}"
                )
            relabel = self.relabel(episode, (first, last), 0.0, False, stamp_ns)
            self._solved = None
        return relabel

    def _pass_on(self, record: Record) -> None:
        self._ready(record)
        with self._numbering:
            record = replace(record, seq=self._seq)
            self._sink(record)
            self._seq += 1  # not if the sink refused: the next record takes the number
            if not record.last:
                self._index.add(record)
