"""The audit finds each kind of fault, and none in a log that is right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from serl_actor.journal import Journal as JournalWriter
from serl_franka_bringup.log_audit import audit, read_journal
from serl_learner.episodes import Episode
from serl_learner.ros_log import encode_episode, read_episode
from serl_learner.types import Entry, Record, Relabel, Source

SESSION = bytes(range(16))
NAME = SESSION.hex()


def episode_of(number: int, first_seq: int, steps: int, source: Source, success: bool) -> Episode:
    """`steps` steps and the final record."""
    entries: list[Entry] = []
    for step in range(steps + 1):
        last = step == steps
        entries.append(
            Record(
                session=SESSION,
                seq=first_seq + step,
                episode=number,
                step=step,
                observation={"state/x": np.zeros(2, np.float32)},
                action=None if last else np.full(2, 0.1 * (step + 1), np.float32),
                reward=0.1 if step == steps - 1 and success else 0.0,
                terminated=step == steps - 1 and success,
                last=last,
                success=last and success,
                source=source,
            )
        )
    end = first_seq + steps + 1
    return Episode("actor", SESSION, tuple(entries), next_seq=end)


def change(whole: Episode, index: int, **fields) -> Episode:
    """The episode with another label on one entry."""
    entries = list(whole.entries)
    entries[index] = replace(entries[index], **fields)
    return replace(whole, entries=tuple(entries))


@pytest.fixture
def run(tmp_path):
    """A demonstration (0..4), two training episodes (5..10, 11..16), a relabel (17)."""
    relabel = Relabel(SESSION, 17, 12, 14, 1.0, True)
    episodes = [
        episode_of(0, 0, 4, Source.DEMO, True),
        episode_of(1, 5, 5, Source.POLICY, False),
        episode_of(2, 11, 5, Source.POLICY, True),
        Episode("actor", SESSION, (relabel,), next_seq=18),
    ]
    writer = JournalWriter(tmp_path / "journal.jsonl")
    for episode in episodes:
        for entry in episode.entries:
            writer.write(entry)
    return Run(episodes, tmp_path / "journal.jsonl")


class Run:
    def __init__(self, episodes: list[Episode], journal: Path) -> None:
        self.episodes = episodes
        self.journal = journal

    def audit(self, *episodes: Episode, acknowledged: int = 18):
        files = [(Path(f"n{i}.mcap"), e) for i, e in enumerate(episodes or self.episodes)]
        return audit(files, read_journal(self.journal), {NAME: acknowledged})


def faults(result) -> list[tuple[str, int]]:
    return [(fault.kind, fault.seq) for fault in result.faults]


def test_a_right_log_has_no_fault_and_is_counted(run):
    result = run.audit()
    assert result.faults == ()
    assert (result.acknowledged, result.stored, result.journalled) == (18, 18, 18)
    assert (result.online_steps, result.demonstrations, result.sessions) == (10, 1, 1)


def test_what_is_not_acknowledged_may_be_missing(run):
    assert run.audit(*run.episodes[:2], acknowledged=11).faults == ()


def test_a_lost_episode_is_found(run):
    demo, _, last, relabel = run.episodes
    assert faults(run.audit(demo, last, relabel)) == [("lost", seq) for seq in range(5, 11)]


def test_a_lost_record_in_the_middle_is_found(run):
    demo, first, last, relabel = run.episodes
    cut = replace(first, entries=first.entries[:2] + first.entries[3:])
    result = run.audit(demo, cut, last, relabel)
    assert faults(result) == [("lost", 7)]
    assert result.online_steps == 8  # no transition pairs across the hole


def test_a_lost_relabel_is_found(run):
    assert faults(run.audit(*run.episodes[:3])) == [("lost", 17)]


def test_a_refused_number_is_accounted_for(run):
    demo, first, last, relabel = run.episodes
    cut = replace(first, entries=first.entries[:2] + first.entries[3:], refused=(7,))
    result = run.audit(demo, cut, last, relabel)
    assert (result.faults, result.refused) == ((), 1)


def test_a_doubled_record_is_found(run):
    part = replace(run.episodes[2], entries=run.episodes[2].entries[3:], part=1)
    assert faults(run.audit(*run.episodes, part)) == [("doubled", s) for s in (14, 15, 16)]


def test_a_record_that_is_stored_and_refused_is_doubled(run):
    assert faults(run.audit(*run.episodes[:3], replace(run.episodes[3], refused=(3,)))) == [
        ("doubled", 3)
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"reward": 1.0},
        {"terminated": True},
        {"truncated": True},
        {"step": 7},
        {"episode": 3},
        {"source": Source.INTERVENTION},
        {"action": np.full(2, 0.5, np.float32)},
        {"success": True},
        {"aborted": True},
        {"policy_version": 4},
        {"observation": {"state/x": np.full(2, 1e-6, np.float32)}},
        {"observation": {"state/x": np.zeros((1, 2), np.float32)}},
        {"observation": {"state/y": np.zeros(2, np.float32)}},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_mislabelled_record_is_found(run, fields):
    demo, first, last, relabel = run.episodes
    result = run.audit(demo, change(first, 2, **fields), last, relabel)
    assert faults(result) == [("mislabelled", 7)]
    assert next(iter(fields)).split("_")[0] in result.faults[0].detail


def test_what_went_through_a_file_is_as_the_actor_wrote_it_down(run, tmp_path):
    """Observations of every kind keep their checksum; so do all labels."""
    seen = {
        "images/wrist": np.arange(48, dtype=np.uint8).reshape(4, 4, 3)[::-1],
        "state/x": np.array((np.pi, -0.0, 1e-30), np.float32),
    }
    first = change(run.episodes[1], 0, observation=seen, policy_version=3, session=bytes(16))
    whole = replace(first, entries=first.entries[:1], session=bytes(16))
    JournalWriter(run.journal).write(whole.entries[0])
    path = tmp_path / "kept.mcap"
    path.write_bytes(encode_episode(whole))
    assert run.audit(*run.episodes, read_episode(path)).faults == ()


def test_a_record_that_was_relabelled_in_place_is_found(run):
    """A relabel is an entry of its own; what it concerns stays as it was received."""
    demo, first, last, relabel = run.episodes
    changed = change(last, 1, reward=1.0, terminated=True)
    assert faults(run.audit(demo, first, changed, relabel)) == [("mislabelled", 12)]


def test_a_relabel_with_another_verdict_is_found(run):
    changed = change(run.episodes[3], 0, first_seq=11)
    assert faults(run.audit(*run.episodes[:3], changed)) == [("mislabelled", 17)]


def test_an_end_that_was_made_up_is_found(run):
    """A broken-off episode has no last record; one that is invented is a label of nobody's."""
    demo, first, last, relabel = run.episodes
    cut = replace(first, entries=first.entries[:4], reason="actor died")
    made_up = change(cut, 3, action=None, last=True)
    assert faults(run.audit(demo, cut, last, relabel, acknowledged=9)) == []
    assert faults(run.audit(demo, made_up, last, relabel, acknowledged=9)) == [("mislabelled", 8)]


def test_a_record_nobody_wrote_down_is_found(run):
    stranger = replace(run.episodes[1].entries[0], session=bytes(16))
    extra = Episode("actor", bytes(16), (stranger,))
    assert faults(run.audit(*run.episodes, extra)) == [("unknown", 5)]


def test_a_number_that_the_actor_used_twice_is_found(run):
    JournalWriter(run.journal).write(replace(run.episodes[0].entries[1], step=9))
    assert faults(run.audit()) == [("doubled", 1)]


def test_a_line_that_a_kill_cut_off_is_no_entry(run):
    with run.journal.open("ab") as stream:
        stream.write(b'{"session": "00')
    journal = read_journal(run.journal)
    assert (journal.torn, len(journal.labels), journal.faults) == (1, 18, [])
