"""A learner on images that is killed goes on as if it had not been, without encoding again."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from image_toy import FROZEN, TRAINED, agent_config, image_record, trained_is_slow
from session_files import (
    CONFIG,
    Clock,
    Files,
    Sessions,
    episode,
    go_on,
    lockstep,
    send,
    state,
    train,
)
from toy import same

from serl_learner.episode_log import LogConfig
from serl_learner.types import Source

pytestmark = pytest.mark.usefixtures("tiny")

LENGTH = 4
STACKED = dataclasses.replace(FROZEN, stack=2)
SIZES = {"replay_bytes": 2**19, "prior_bytes": 2**18, "training_starts": 3}


def config(encoder, **fields):
    """Of a learner of small networks."""
    few = {} if encoder.frozen else {"batch_size": 2, "utd_ratio": 1}
    return dataclasses.replace(CONFIG, agent=agent_config(encoder), **(SIZES | few | fields))


def course(episodes):
    """A demonstration, then episodes with interventions in the middle."""
    entries = list(episode(0, 0, LENGTH, image_record, source=Source.DEMO, success=True))
    for number in range(1, episodes):
        for made in episode(number, len(entries), LENGTH, image_record, success=number % 2 == 0):
            source = Source.INTERVENTION if made.step in (1, 2) else made.source
            entries.append(dataclasses.replace(made, source=source))
    return entries


ENCODERS = {"frozen": FROZEN, "stacked": STACKED, "trained": TRAINED}
ALL = {"frozen": course(5), "stacked": course(5), "trained": course(3)}


@pytest.mark.parametrize("name", trained_is_slow(ENCODERS))
def test_resume_equals_uninterrupted(make, tmp_path, name):
    """Killed twice: in an open episode, and with a backlog that the checkpoint does not know."""
    entries, how = ALL[name], config(ENCODERS[name])
    straight = Sessions(tmp_path / "straight", Files(), Clock())(config=how)
    lockstep(straight, entries)

    first = make(config=how)
    lockstep(first, entries[:8])
    first.save_checkpoint()
    lockstep(first, entries[8:13])
    second = make(config=how)
    reached = second.acknowledgements()[0].received_seq
    lockstep(second, entries[reached:14])
    third = make(config=how)
    go_on(third, entries)
    assert third.learner.blocks > 2
    assert same(state(third), state(straight))


def test_a_restart_encodes_nothing_that_was_logged(make, tiny):
    how = config(FROZEN)
    first = make(config=how)
    lockstep(first, ALL["frozen"])
    assert len(tiny) == len(ALL["frozen"])
    after = make(config=how)
    train(after)
    assert len(tiny) == len(ALL["frozen"])
    assert same(state(after)[1:3], state(first)[1:3])


@pytest.mark.parametrize("harm", ["missing", "cut", "flipped", "foreign", "not ours"])
def test_features_that_cannot_be_used_are_made_again(make, tmp_path, tiny, harm):
    how = config(FROZEN)
    first = make(config=how)
    lockstep(first, ALL["frozen"])
    files = sorted((tmp_path / "features").iterdir())
    assert len(files) == 5
    content = files[1].read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    harmed = {
        "missing": None,
        "cut": content[:-1],
        "flipped": flipped,
        "foreign": files[2].read_bytes(),
        "not ours": b"something else",
    }[harm]
    files[1].unlink()
    if harmed is not None:
        files[1].write_bytes(harmed)
    tiny.clear()
    after = make(config=how)
    train(after)
    assert tiny == [item.seq for item in ALL["frozen"][LENGTH + 1 : 2 * (LENGTH + 1)]]
    assert same(state(after)[1:3], state(first)[1:3])
    assert files[1].read_bytes() == content


@pytest.mark.parametrize("change", [{"crops": 2}, {"pad": 1}, {"colour_jitter": 0.2}, {"stack": 2}])
def test_features_of_another_encoder_are_made_again(make, tiny, change):
    lockstep(make(config=config(FROZEN)), ALL["frozen"])
    tiny.clear()
    other = config(dataclasses.replace(FROZEN, **change))
    make(config=other, restore=False).restore()
    assert sorted(tiny) == [item.seq for item in ALL["frozen"]]


def test_features_go_with_their_episode(make, tmp_path):
    small = config(FROZEN, replay_bytes=2**14, prior_bytes=2**14)
    log = LogConfig(log_bytes=1)
    session = make(log, config=small)
    for number in range(12):
        send(session, episode(number, 5 * number, LENGTH, image_record))
    logged = {path.stem for path in (tmp_path / "log").glob("*.mcap")}
    assert len(logged) < 12
    features = tmp_path / "features"
    assert {path.stem for path in features.iterdir()} == logged
    (features / "n000999-73737373-000001.features").write_bytes(b"of an episode that is gone")
    make(log, config=small)
    assert {path.stem for path in features.iterdir()} == logged


def test_what_replay_holds_after_the_oldest_files_went_is_what_it_held(make):
    small = config(FROZEN, replay_bytes=2**14, prior_bytes=2**14)
    log = LogConfig(log_bytes=1)
    session = make(log, config=small)
    for number in range(9):
        lockstep(session, episode(number, 5 * number, LENGTH, image_record))
    session.save_checkpoint()
    after = make(log, config=small)
    lockstep(session, episode(9, 45, LENGTH, image_record))
    lockstep(after, episode(9, 45, LENGTH, image_record))
    assert int(after.learner.online.size) == int(session.learner.online.size) > 0
    assert same(after.learner.agent, session.learner.agent)


def test_evaluation_and_failed_demonstrations_are_not_encoded(make, tmp_path, tiny):
    session = make(config=config(FROZEN))
    lockstep(session, ALL["frozen"][:5])
    tiny.clear()
    lockstep(session, episode(1, 5, LENGTH, image_record, source=Source.EVAL))
    lockstep(session, episode(2, 10, LENGTH, image_record, source=Source.DEMO))
    make(config=config(FROZEN))
    assert tiny == []
    assert len(list((tmp_path / "features").iterdir())) == 1


def test_a_full_disk_costs_the_features_not_the_learner(make, tmp_path, monkeypatch):
    session = make(LogConfig(min_free_bytes=2**60), config=config(FROZEN))
    lockstep(session, ALL["frozen"])
    assert not (tmp_path / "features").exists()
    assert np.isfinite(session.learner.online_steps)
