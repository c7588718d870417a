"""What an actor is told: what is safe, how far it may go on, and what the learner has."""

from __future__ import annotations

from serl_learner.actor_sessions import Acknowledgement, ActorSession
from serl_learner.trainer import Trainer

UNLIMITED = 2**32
"""Credit of an actor that nothing holds back: records ahead of those that arrived."""


def acknowledge(actor: ActorSession, trainer: Trainer, learns: bool) -> Acknowledgement:
    """The answer to one actor; where nothing is learned, nothing holds it back."""
    learner = trainer.learner
    limited = learns and trainer.session.training
    return Acknowledgement(
        actor_id=actor.actor_id,
        session=actor.session,
        next_seq=actor.next_seq,
        received_seq=actor.received_seq,
        credit=actor.received_seq + (trainer.free_steps() if limited else UNLIMITED),
        demonstrations=trainer.demonstrations,
        updates=learner.updates if learner else 0,
        training=bool(learner and trainer.session.training and learner.training),
    )
