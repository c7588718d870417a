"""Resume equals uninterrupted, bit for bit, whenever the learner is killed; damage is told."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
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
from toy import record, same

from serl_learner import checkpoint
from serl_learner.checkpoint import CheckpointError
from serl_learner.published_params import STRIDE
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


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The state at the end of a run that nothing interrupted."""
    session = Sessions(tmp_path_factory.mktemp("straight"), Files(), Clock())()
    lockstep(session, ALL)
    return state(session)


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
    go_on(after, ALL)
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
    go_on(third, ALL)
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


def test_behind_a_backlog_an_actor_may_go_on_by_as_much_as_it_may_lead(make):
    lockstep(make(), ALL[:31])
    session = make()
    (ack,) = session.acknowledgements()
    assert session.trainer.behind
    assert ack.credit == ack.received_seq + CONFIG.max_lag
    begin = ack.received_seq
    ack = send(session, ALL[begin : begin + 2])
    assert ack.credit == begin + CONFIG.max_lag
    ack = send(session, ALL[begin + 2 : begin + 5])
    assert ack.credit == ack.received_seq
    train(session)
    assert not session.trainer.behind
    (ack,) = session.acknowledgements()
    assert ack.credit == ack.received_seq + CONFIG.max_lag
    assert session.learner.updates == 2 * (session.learner.online_steps - 4)


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
    go_on(after, ALL)
    assert same(state(after), straight)


def test_all_checkpoints_damaged_begins_anew_from_the_log(make, straight):
    before = make()
    lockstep(before, ALL[:20])
    (before.save_checkpoint() / "about" / "about.json").write_text("{")
    after = make()
    assert after.learner.blocks == 0
    go_on(after, ALL)
    assert same(state(after), straight)


def test_a_checkpoint_of_another_network_is_refused_and_not_set_aside(make, tmp_path):
    before = make()
    lockstep(before, ALL[:20])
    path = before.save_checkpoint()
    other = dataclasses.replace(CONFIG, agent=dataclasses.replace(CONFIG.agent, hidden=(4,)))
    with pytest.raises(CheckpointError, match="is of another layout"):
        make(config=other)
    assert checkpoint.candidates(tmp_path / "checkpoints") == [path]


def remove(files, path):
    """Loses a file of the log."""
    path.unlink()
    del files.kept[path]


@pytest.mark.parametrize("lost", [slice(0, 2), slice(2, None), slice(None)])
def test_a_checkpoint_that_knows_more_than_the_log_is_refused(make, files, tmp_path, lost):
    session = make()
    lockstep(session, ALL)
    session.save_checkpoint()
    logged = sorted(p for p in files.kept if p.parent == tmp_path / "log")
    for path in logged[lost]:
        remove(files, path)
    name = (b"s" * 16).hex()
    with pytest.raises(CheckpointError, match=rf"log lacks entries: \d+\.\.\d+ of session {name}"):
        make()


def test_one_that_knows_as_much_is_used_and_what_is_missing_is_told(make, files, tmp_path):
    lockstep(make(), ALL)
    remove(files, min(p for p in files.kept if p.parent == tmp_path / "log"))
    (notice,) = make().notices
    assert f"lacks entries: 6..11 of session {(b's' * 16).hex()}" in notice


def test_what_kills_left_unfinished_is_removed(make, tmp_path):
    """In the directory that other runs share only what nobody can be writing any more."""
    paths = [tmp_path / name / ".a.mcap.7.part" for name in ("log", "checkpoints", "demos")]
    old = tmp_path / "demos" / ".b.mcap.7.part"
    for path in (*paths, old):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    os.utime(old, (1e9, 1e9))
    make()
    assert [path.exists() for path in (*paths, old)] == [False, False, True, False]


def test_versions_go_on_above_the_checkpoints(make):
    before = make()
    lockstep(before, ALL[:20])
    before.save_checkpoint()
    version = before.trainer.published.version
    after = make()
    assert after.take_unpublished().version == version + STRIDE + 1
    assert make().take_unpublished().version == version + STRIDE + 1  # nothing was saved


@pytest.mark.parametrize("saved", [False, True])
def test_no_version_names_two_policies(make, saved):
    """The actor's open episode is ahead of all files; no sealed record names a version."""
    before = make()
    if saved:
        lockstep(before, ALL[:8])
        before.save_checkpoint()
    lockstep(before, ALL[8 if saved else 0 : 29])
    ahead = before.trainer.published.version
    after = make()
    assert after.take_unpublished().version > ahead > 2
    published = after.trainer.published.version
    send(after, [dataclasses.replace(ALL[24], policy_version=ahead)])
    assert after.trainer.published.version == published


def test_an_actor_that_knows_more_than_all_files_is_believed(make):
    session = make(keeps_log=False)
    send(session, [record(0, policy_version=7)])
    assert session.take_unpublished().version == 7 + STRIDE + 1


def test_the_background_write_is_the_same_as_the_other(make, straight):
    before = make()
    lockstep(before, ALL[:14])
    before.begin_checkpoint()
    lockstep(before, ALL[14:20])
    before.close()
    after = make()
    go_on(after, ALL)
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
