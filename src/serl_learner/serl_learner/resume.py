"""Goes on from the files: agent from a checkpoint, replay and sessions from the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from serl_learner import checkpoint
from serl_learner.actor_sessions import ActorSessions
from serl_learner.checkpoint import CheckpointError, DamagedCheckpoint
from serl_learner.episode_store import EpisodeStore
from serl_learner.episodes import Episode, check_episode, is_demonstration
from serl_learner.learner import agent_shapes
from serl_learner.log_retention import LogRetention, Retired
from serl_learner.trainer import Trainer
from serl_learner.types import spec_of


def restore_agent(
    trainer: Trainer, directory: Path, store: EpisodeStore, say: Callable[[str], None]
) -> dict[str, int]:
    """Starts the trainer from the newest checkpoint that is sound, if there is any.

    A damaged one is set aside, and `say` is told.

    Returns:
      The log position that it was saved at: `next_seq` by session.

    Raises:
      CheckpointError: the newest one is of another layout.
    """
    for path in checkpoint.candidates(directory):
        try:
            return _load(trainer, path, store)
        except DamagedCheckpoint as error:
            aside = checkpoint.set_aside(path)
            say(f"{error}; set aside as {aside.name}, going on from the one before")
    return {}


def _load(trainer: Trainer, path: Path, store: EpisodeStore) -> dict[str, int]:
    about = checkpoint.read_about(path)
    spec, dim = checkpoint.spec_in(about), trainer.session.action_dim
    checkpoint.check_layout(path, about, spec, dim)
    agent = checkpoint.load_agent(path, agent_shapes(trainer.config, spec, dim))
    saved = about["counters"]
    trainer.counted.blocks = saved["blocks"]
    trainer.counted.cloned = saved.get("cloned", 0)
    if not store.keeps_log:  # or else that knows better what was received
        trainer.counted.online_steps = saved["online_steps"]
        if not store.keeps_demonstrations:
            trainer.counted.demonstrations = saved["demonstrations"]
    trainer.start(spec, agent)
    trainer.notice(saved["version"])
    return dict(about["log"])


def restore_retired(retired: Retired, actors: ActorSessions, trainer: Trainer) -> None:
    """Counts what files held that are gone; before all others."""
    trainer.counted.online_steps = retired.online
    trainer.counted.demonstrations = retired.demonstrations
    for end, next_episode in retired.ends():
        actors.restore(end)
        actors.find(end.actor_id, end.session).next_episode = next_episode


def restore_log(
    store: EpisodeStore,
    actors: ActorSessions,
    retention: LogRetention | None,
    trainer: Trainer | None,
    positions: Mapping[str, int],
) -> list[str]:
    """Takes in all files that are kept; without a trainer only how far the sessions are.

    Up to `positions` the checkpoint knows them; the trainer takes the rest as it came.

    Returns:
      What the log lacks: sessions, and numbers of theirs.

    Raises:
      EpisodeError: a file is damaged, or of another layout than the rest; names it.
    """
    missing, paths = [], []
    for path, episode in store.episodes():
        paths.append(path)
        if trainer is not None:
            _check(trainer, path, episode)
        if path.parent == store.log:
            known = actors.find(episode.actor_id, episode.session).next_seq
            missing += _lack(episode.session.hex(), known, episode.first_seq - episode.unsent)
        actors.restore(episode)
        if retention is not None and path.parent == store.log:
            retention.note(path, episode)
        if trainer is not None and trainer.learner is not None:
            if path.parent == store.log:
                trainer.notice(1)  # whoever wrote it gave out one at least
            position = positions.get(episode.session.hex(), 0)
            trainer.relearn(episode, trained_on=episode.next_seq <= position, path=path)
    if retention is not None and trainer is not None and trainer.learner is not None:
        trainer.learner.count_forgotten(retention.retired.prior, retention.retired.online)
    if trainer is not None and trainer.cache is not None:
        trainer.cache.files.keep_only(paths)
    reached = actors.positions()
    for name, position in positions.items():
        missing += _lack(name, reached.get(name, 0), position)
    return missing


def _lack(session: str, known: int, needed: int) -> list[str]:
    return [f"{known}..{needed - 1} of session {session}"] if known < needed else []


def count_demonstrations(store: EpisodeStore) -> int:
    """How many are kept."""
    return sum(is_demonstration(episode) for _, episode in store.episodes())


def check_complete(
    trainer: Trainer, store: EpisodeStore, missing: list[str], say: Callable[[str], None]
) -> None:
    """Tells of what the log lacks.

    Raises:
      CheckpointError: so much that the checkpoint had more updates than the log has steps for:
        no block would be due for as many steps.
    """
    learner = trainer.learner
    if not missing or learner is None or not store.keeps_log:
        return
    lack = f"{store.log} lacks entries: {', '.join(missing)}"
    steps, starts = trainer.received_steps, trainer.config.training_starts
    if learner.blocks > max(0, steps - starts):
        raise CheckpointError(
            f"{lack}; the checkpoint has {learner.blocks} blocks, the {steps} steps that are there"
            f" allow {max(0, steps - starts)}: bring the files back, or remove the checkpoints to"
            " begin anew from those that are there"
        )
    say(lack)


def _check(trainer: Trainer, path: Path, episode: Episode) -> None:
    """Starts the trainer with the first layout; EpisodeError if this one is another."""
    records = episode.records
    if not records:
        return
    spec = trainer.spec or spec_of(records[0].observation)
    dim, rewards = trainer.session.action_dim, trainer.config.agent.target_range
    check_episode(path, episode, spec, dim, rewards)
    trainer.start(spec)
