"""What the learner node tells of a session: its phase and its numbers."""

from __future__ import annotations

from serl_learner.learner_session import LearnerSession


def phase(session: LearnerSession) -> str:
    """What the learner is at, in one word."""
    if session.serving:
        return "serving"
    if session.recording:
        return "recording"
    if session.trainer.compiling:
        return "compiling"
    if session.learner is not None and session.learner.warm_start_due:
        return "warm start"
    if session.learner is None or session.learner.online_steps == 0:
        return "demonstrations"
    return "training" if session.learner.training and session.session.training else "warm-up"


def lacking(session: LearnerSession) -> str:
    """What a learner that hears nothing waits for; empty if it has work."""
    learner = session.learner
    if learner is None:
        return "records on transitions"
    if learner.warm_start_ahead and session.session.training:
        held, wanted = learner.demonstrations, session.config.warm_start.demonstrations
        return f"demonstrations for the warm start: {held} of {wanted}" if held < wanted else ""
    return "records on transitions" if learner.blocks_due < 1 else ""


def overfull(session: LearnerSession) -> str:
    """Demonstrations that found no room in replay, in words; empty: all are there.

    Without them a policy may not learn at all, so it must be said.
    """
    learner = session.learner
    if learner is None or not learner.prior_dropped:
        return ""
    room, limit = learner.capacities[0], session.config.prior_bytes
    return (
        f"prior_bytes {limit} has room for {room} demonstrated and corrected transitions: the "
        f"oldest are overwritten, {learner.prior_dropped} so far; raise prior_bytes"
    )


class Meter:
    """Rates between two calls; `now` is on a steady clock [s]."""

    def __init__(self, now: float, updates: int = 0) -> None:
        self._then = now
        self._updates = updates

    def read(self, session: LearnerSession, now: float) -> dict[str, float]:
        """All numbers of a session by name.

        `utd_ratio` is measured: critic updates per online step after `training_starts`; it is
        left out until there is such a step.
        """
        values: dict[str, float] = {
            "rejected_records": session.rejected,
            "duplicate_records": session.actors.duplicates,
            "gaps": session.actors.gaps,
            "log_pending_bytes": session.pending_bytes,
        }
        learner = session.learner
        if learner is None:
            return values
        published = session.trainer.published
        elapsed = max(now - self._then, 1e-9)
        values |= {
            "updates": learner.updates,
            "updates_per_s": max(0, learner.updates - self._updates) / elapsed,
            "online_steps": learner.online_steps,
            "demonstrations": learner.demonstrations,
            "cloning_updates": learner.warm_start.cloned,
            "relabelled_transitions": learner.relabelled,
            "prior_transitions": learner.prior_transitions,
            "prior_dropped": learner.prior_dropped,
            "replay_bytes": learner.replay_bytes,
            "replay_limit": learner.replay_limit,
            "policy_version": published.version if published else 0,
            **session.trainer.metrics,
        }
        trained_steps = learner.online_steps - session.config.training_starts
        if trained_steps > 0:
            values["utd_ratio"] = learner.updates / trained_steps
        self._then, self._updates = now, learner.updates
        return values
