"""The oldest files go; what replay needs and what sessions have reached stays."""

from __future__ import annotations

import dataclasses
import errno

import pytest
from session_files import CONFIG, episode, lockstep, send, state, train
from toy import ACTION_DIM, SPEC, record, same

from serl_learner.episode_log import LogConfig
from serl_learner.replay import transition_bytes

SMALL_REPLAY = dataclasses.replace(CONFIG, replay_bytes=8 * transition_bytes(SPEC, ACTION_DIM))


def run(make, log, episodes=7):
    """A session after so many episodes, with room for 8 transitions in replay."""
    session = make(log, config=SMALL_REPLAY)
    for number in range(episodes):
        lockstep(session, episode(number, 6 * number))
    return session


def test_keeps_what_replay_needs(make, files, tmp_path):
    session = run(make, LogConfig(log_bytes=1))
    on_disk = sorted(p.name for p in (tmp_path / "log").glob("*.mcap"))
    assert on_disk == [f"n00000{n + 1}-73737373-00000{n}.mcap" for n in (5, 6)]
    assert sum("replay needs all of them" in notice for notice in session.notices) == 1
    session.save_checkpoint()
    after = make(LogConfig(log_bytes=1), config=SMALL_REPLAY)
    assert same(state(after), state(session))
    assert after.acknowledgements()[0].received_seq == 42
    lockstep(after, episode(7, 42))
    lockstep(session, episode(7, 42))
    assert same(state(after), state(session))


def test_removes_no_more_than_the_limit_asks(make, tmp_path):
    run(make, LogConfig(log_bytes=450))  # a file of this test takes 100
    assert len(list((tmp_path / "log").glob("*.mcap"))) == 4


def test_a_limit_that_was_lowered_counts_at_the_restart(make, tmp_path):
    run(make, LogConfig())
    make(LogConfig(log_bytes=450), config=SMALL_REPLAY)
    assert len(list((tmp_path / "log").glob("*.mcap"))) == 4


def test_makes_room_on_a_full_disk(make, files, tmp_path, monkeypatch):
    """A disk so full that what is gone cannot be counted either is waited for."""
    run(make, LogConfig())

    def fail(*_):
        raise OSError(errno.ENOSPC, "disk full")

    with monkeypatch.context() as full:
        full.setattr("serl_learner.log_retention.write_file", fail)
        session = make(LogConfig(log_bytes=450), config=SMALL_REPLAY)
        files.free = 0
        lockstep(session, episode(7, 42))
        session.look()
        assert len(list((tmp_path / "log").glob("*.mcap"))) == 7
    session.look()
    assert session.waiting_for
    assert len(list((tmp_path / "log").glob("*.mcap"))) == 4
    assert session._retention.retired.files == 3


def test_keeps_all_without_a_limit(make, tmp_path):
    run(make, LogConfig())
    assert len(list((tmp_path / "log").glob("*.mcap"))) == 7


def test_counts_nothing_twice_when_killed_between_count_and_removal(
    make, files, tmp_path, monkeypatch
):
    with monkeypatch.context() as killed:
        killed.setattr("pathlib.Path.unlink", lambda *_, **__: exec("raise KeyboardInterrupt"))
        with pytest.raises(KeyboardInterrupt):
            run(make, LogConfig(log_bytes=1))
    after = make(LogConfig(log_bytes=1), config=SMALL_REPLAY)
    train(after)
    sent = after.acknowledgements()[0].received_seq
    assert after.learner.online_steps == sent // 6 * 5


def test_remembers_sessions_of_which_no_file_is_left(make, tmp_path):
    run(make, LogConfig(log_bytes=1), episodes=3)
    session = make(LogConfig(log_bytes=1), config=SMALL_REPLAY)
    for number in range(4):
        lockstep(session, episode(number, 6 * number, session=b"t" * 16, actor_id="other"))
    after = make(LogConfig(log_bytes=1), config=SMALL_REPLAY)
    assert set((tmp_path / "log").glob("*73737373*")) == set()
    assert after.actors.positions() == {"73" * 16: 18, "74" * 16: 24}
    send(after, [record(0, seq=18, episode=2)])
    assert "episode 2 is sealed, the next one is 3" in after.last_rejection
