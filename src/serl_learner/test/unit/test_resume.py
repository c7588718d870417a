"""Resume equals uninterrupted, bit for bit, whenever the learner is killed; damage is told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from session_files import CONFIG, episode, send, train
from toy import record, same

from serl_learner import checkpoint
from serl_learner.checkpoint import CheckpointError
from serl_learner.episode_log import LogConfig
from serl_learner.replay import transition_bytes
from serl_learner.types import Relabel, Source

EPISODES = 6
LENGTH = 5


def course():
    """All that an actor sends: a demonstration, episodes with interventions, a late verdict."""
    rng = np.random.default_rng(0)
    entries = list(episode(0, 0, source=Source.DEMO, success=True))
    for number in range(1, EPISODES):
        for made in episode(number, len(entries), LENGTH, success=number % 2 == 0):
            source = Source.INTERVENTION if made.step == 1 else made.source
            value = rng.uniform(0, 1000)
            noise = record(0, value=value)
            entries.append(
                dataclasses.replace(
                    made,
                    observation=noise.observation,
                    action=None if made.last else noise.action,
                    source=source,
                    reward=float(made.step == LENGTH - 1 and number % 2 == 0),
                )
            )
        if number == 2:
            seq = len(entries)
            entries.append(Relabel(b"s" * 16, seq, seq - 3, seq - 2, 1.0, True))
    return entries


ALL = course()


def lockstep(session, entries):
    """Sends entries, and does every block that is due before the next one."""
    for entry in entries:
        session.receive(entry)
        train(session)


def state(session):
    """All that goes on from here."""
    learner = session.learner
    counters = (learner.online_steps, learner.blocks, learner.demonstrations)
    return learner.agent, learner.prior, learner.online, np.array(counters)


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The state at the end of a run that nothing interrupted."""
    from session_files import Clock, Files, Sessions

    session = Sessions(tmp_path_factory.mktemp("straight"), Files(), Clock())()
    lockstep(session, ALL)
    return state(session)


def go_on(session):
    """As the actor does after a restart: it sends what is not acked, from the start."""
    train(session)
    begin = max([0, *session.actors.positions().values()])
    lockstep(session, ALL[begin:])


@pytest.mark.parametrize("killed", [13, 17, 18, 24, 30, len(ALL)])
@pytest.mark.parametrize("saved", [None, 8, 14, 20])
def test_resume_equals_uninterrupted(make, straight, saved, killed):
    """Killed at entry `killed`, when the newest checkpoint is of entry `saved`: the log holds
    more than the checkpoint, and an episode is open at either."""
    if saved is not None and saved > killed:
        saved = killed
    before = make()
    lockstep(before, ALL[:saved] if saved else [])
    if saved is not None:
        before.save_checkpoint()
    lockstep(before, ALL[saved or 0 : killed])
    after = make()
    go_on(after)
    assert same(state(after), straight)


def test_resumed_twice_equals_uninterrupted(make, straight):
    """The second kill comes while the backlog of the first is not yet trained on."""
    first = make()
    lockstep(first, ALL[:14])
    first.save_checkpoint()
    lockstep(first, ALL[14:30])
    second = make()
    assert second.trainer.behind
    second.work()
    second.save_checkpoint()
    third = make()
    go_on(third)
    assert same(state(third), straight)


def test_what_comes_during_the_backlog_waits_behind_it(make, straight):
    first = make()
    lockstep(first, ALL[:30])
    second = make()  # from the beginning: there is no checkpoint
    begin = max(second.actors.positions().values())
    send(second, ALL[begin:])
    assert second.acknowledgements()[0].credit == len(ALL)
    train(second)
    assert same(state(second), straight)


def test_demonstrations_are_known_at_once(make):
    lockstep(make(), ALL[:20])
    assert make().acknowledgements()[0].demonstrations == 1


def damage(path):
    """Cuts the arrays of a checkpoint."""
    for file in path.rglob("*"):
        if file.is_file() and "about" not in str(file.relative_to(path)):
            file.write_bytes(file.read_bytes()[:-20])


def test_case07_a_damaged_checkpoint_is_set_aside_and_the_one_before_taken(
    make, straight, tmp_path
):
    before = make()
    lockstep(before, ALL[:14])
    first = before.save_checkpoint()
    lockstep(before, ALL[14:20])
    second = before.save_checkpoint()
    damage(second)
    after = make()
    assert after.learner.blocks == int(first.name)
    (notice,) = after.notices
    assert f"{second} is damaged" in notice
    assert f"set aside as {second.name}.damaged" in notice
    go_on(after)
    assert same(state(after), straight)


def test_all_checkpoints_damaged_begins_anew_from_the_log(make, straight):
    before = make()
    lockstep(before, ALL[:20])
    (before.save_checkpoint() / "about" / "about.json").write_text("{")
    after = make()
    assert after.learner.blocks == 0
    go_on(after)
    assert same(state(after), straight)


def test_a_checkpoint_of_another_network_is_refused_and_not_set_aside(make, tmp_path):
    before = make()
    lockstep(before, ALL[:20])
    path = before.save_checkpoint()
    other = dataclasses.replace(CONFIG, agent=dataclasses.replace(CONFIG.agent, hidden=(4,)))
    with pytest.raises(CheckpointError, match="is of another layout"):
        make(config=other)
    assert checkpoint.candidates(tmp_path / "checkpoints") == [path]


def test_versions_go_on_above_the_checkpoints(make):
    before = make()
    lockstep(before, ALL[:20])
    before.save_checkpoint()
    version = before.trainer.published.version
    assert make().take_unpublished().version == version + 1


def test_the_background_write_is_the_same_as_the_other(make, straight):
    before = make()
    lockstep(before, ALL[:14])
    before.begin_checkpoint()
    lockstep(before, ALL[14:20])
    before.close()
    after = make()
    go_on(after)
    learner = after.learner
    assert learner.blocks == int(straight[3][1]) - 1  # close() ended an episode: one pair less


def test_a_full_disk_costs_a_checkpoint_and_is_told(make, files):
    session = make()
    lockstep(session, ALL[:14])
    files.free = 10
    session.begin_checkpoint()
    assert session._writer.wait(60.0)
    session.look()
    (notice,) = session.notices
    assert notice.startswith("no checkpoint, the previous one stays: disk space: ")
    lockstep(session, ALL[14:20])
    assert session.learner.blocks > 0


class Test_retention:
    """The oldest files go; what replay needs and what sessions have reached stays."""

    CAPACITY = 8
    SMALL_REPLAY = dataclasses.replace(
        CONFIG,
        replay_bytes=CAPACITY
        * transition_bytes({"a": ((2,), "float32"), "b": ((1,), "float32")}, 2),
    )

    def run(self, make, log, episodes=7):
        session = make(log, config=self.SMALL_REPLAY)
        for number in range(episodes):
            lockstep(session, episode(number, 6 * number))
        return session

    def test_keeps_what_replay_needs(self, make, files, tmp_path):
        session = self.run(make, LogConfig(log_bytes=1))
        on_disk = sorted(p.name for p in (tmp_path / "log").glob("*.mcap"))
        assert on_disk == [f"n00000{n + 1}-73737373-00000{n}.mcap" for n in (5, 6)]
        assert sum("replay needs all of them" in notice for notice in session.notices) == 1
        session.save_checkpoint()
        after = make(LogConfig(log_bytes=1), config=self.SMALL_REPLAY)
        assert same(state(after), state(session))
        assert after.acknowledgements()[0].received_seq == 42
        lockstep(after, episode(7, 42))
        lockstep(session, episode(7, 42))
        assert same(state(after), state(session))

    def test_removes_no_more_than_the_limit_asks(self, make, tmp_path):
        self.run(make, LogConfig(log_bytes=450))  # a file of this test takes 100
        assert len(list((tmp_path / "log").glob("*.mcap"))) == 4

    def test_keeps_all_without_a_limit(self, make, tmp_path):
        self.run(make, LogConfig())
        assert len(list((tmp_path / "log").glob("*.mcap"))) == 7

    def test_counts_nothing_twice_when_killed_between_count_and_removal(
        self, make, files, tmp_path, monkeypatch
    ):
        with monkeypatch.context() as killed:
            killed.setattr("pathlib.Path.unlink", lambda *_, **__: exec("raise KeyboardInterrupt"))
            with pytest.raises(KeyboardInterrupt):
                self.run(make, LogConfig(log_bytes=1))
        after = make(LogConfig(log_bytes=1), config=self.SMALL_REPLAY)
        train(after)
        sent = after.acknowledgements()[0].received_seq
        assert after.learner.online_steps == sent // 6 * 5

    def test_remembers_sessions_of_which_no_file_is_left(self, make, tmp_path):
        self.run(make, LogConfig(log_bytes=1), episodes=3)
        session = make(LogConfig(log_bytes=1), config=self.SMALL_REPLAY)
        for number in range(4):
            lockstep(session, episode(number, 6 * number, session=b"t" * 16, actor_id="other"))
        after = make(LogConfig(log_bytes=1), config=self.SMALL_REPLAY)
        assert set((tmp_path / "log").glob("*73737373*")) == set()
        assert after.actors.positions() == {"73" * 16: 18, "74" * 16: 24}
        send(after, [record(0, seq=18, episode=2)])
        assert "episode 2 is sealed, the next one is 3" in after.last_rejection
