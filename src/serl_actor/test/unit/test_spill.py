"""Entries on disk: order, limits, a full disk, damage, and what a dead process left."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from serl_actor.entry_queue import EntryQueue, size_of
from serl_actor.spill import Codec, Spill, SpillDamaged, SpillFull
from serl_learner.disk_space import DiskSpace
from serl_learner.types import Record


def record(seq: int) -> Record:
    return Record(b"s" * 16, seq, 0, seq, {}, np.zeros(6, np.float32))


CODEC = Codec(lambda entry: (b"%d " % entry.seq).ljust(100), lambda data: record(int(data)))
SIZE = size_of(record(0))


@pytest.fixture
def make(tmp_path):
    def build(limit: int = 10_000, segment: int = 300) -> Spill:
        return Spill(tmp_path / "spill", "actor", limit, CODEC, segment)

    return build


def files(spill: Spill) -> int:
    return len(list(spill._directory.glob("*.spill")))


def test_what_goes_in_comes_out_by_number(make):
    spill = make()
    for seq in range(7, 17):
        spill.append(record(seq))
    assert [spill.read(seq).seq for seq in (7, 9, 10, 16)] == [7, 9, 10, 16]
    assert spill.first == 7
    assert files(spill) == 4


def test_a_file_goes_with_its_last_entry(make):
    spill = make()
    for seq in range(9):
        spill.append(record(seq))
    spill.drop_below(5)
    assert (spill.first, files(spill), spill.disk_bytes) == (5, 2, 600)
    assert spill.read(5).seq == 5
    spill.drop_below(9)
    assert (spill.first, files(spill), spill.disk_bytes) == (None, 0, 0)


def test_the_limit_holds_and_is_named(make):
    spill = make(limit=900)
    for seq in range(9):
        spill.append(record(seq))
    with pytest.raises(SpillFull, match="over the limit"):
        spill.append(record(9))
    spill.drop_below(3)
    spill.append(record(9))
    assert spill.read(9).seq == 9


def test_so_much_stays_free_for_the_learner(tmp_path):
    space = DiskSpace(min_free=5000, free=lambda _: 5299)
    spill = Spill(tmp_path, "actor", 10_000, CODEC, 300, space)
    with pytest.raises(SpillFull, match=r"disk space: .* needs"):
        spill.reserve(1, 100)
    assert list(tmp_path.iterdir()) == []
    space._free = lambda _: 5300
    spill.append(record(0))
    assert files(spill) == 1


def test_files_of_an_actor_of_a_longer_name_are_left_alone(tmp_path):
    other = Spill(tmp_path, "actor-b", 10_000, CODEC, 300)
    other.append(record(0))
    (tmp_path / "actor-1-0.spill").touch()
    Spill(tmp_path, "actor", 10_000, CODEC, 300)
    assert files(other) == 1
    assert other.read(0).seq == 0


def test_what_is_reserved_is_there(make):
    spill = make(limit=900)
    spill.reserve(9, 100)
    with pytest.raises(SpillFull):
        spill.reserve(10, 100)
    assert spill.disk_bytes == 900
    spill.append(record(0))
    spill.release()
    assert spill.disk_bytes == 300


def test_a_full_disk_is_told_and_leaves_nothing_half(make, monkeypatch):
    spill = make()
    spill.append(record(0))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    spill.append(record(1))  # its space was taken before
    spill.append(record(2))
    with pytest.raises(SpillFull, match="No space left"):
        spill.append(record(3))
    assert files(spill) == 1
    monkeypatch.undo()
    spill.append(record(3))
    assert [spill.read(seq).seq for seq in range(4)] == [0, 1, 2, 3]


def test_an_entry_larger_than_a_file_gets_one_of_its_own(make):
    spill = make(segment=50)
    spill.append(record(0))
    spill.append(record(1))
    assert [spill.read(seq).seq for seq in range(2)] == [0, 1]
    assert files(spill) == 2


def test_damage_is_named_and_not_read(make):
    spill = make()
    spill.append(record(4))
    path = next(spill._directory.glob("*.spill"))
    with path.open("r+b") as stream:
        stream.write(b"9")
    with pytest.raises(SpillDamaged, match=r"entry 4 in .*crc32"):
        spill.read(4)


def test_case_06_what_a_dead_actor_left_is_removed_and_said(make, caplog):
    dead = make()
    dead.append(record(0))
    other = dead._directory / "actor2-1-0.spill"
    other.touch()
    make()
    assert list(dead._directory.iterdir()) == [other]
    assert "an actor that is gone left it" in caplog.text


def test_the_oldest_in_memory_the_rest_on_disk_in_order(make):
    spill = make()
    queue = EntryQueue(2 * SIZE, spill)
    for seq in range(5):
        assert queue.lack(1, SIZE) == ""
        queue.append(record(seq))
    assert (queue.memory_bytes, spill.first, len(queue)) == (2 * SIZE, 2, 5)
    assert [queue.get(seq).seq for seq in range(5)] == list(range(5))
    queue.drop_below(1)
    queue.append(record(5))  # there is room in memory, but older ones are on disk
    assert queue.memory_bytes == SIZE
    queue.drop_below(4)
    assert (queue.first, queue.memory_bytes, [queue.get(s).seq for s in (4, 5)]) == (4, 0, [4, 5])
    queue.drop_below(6)
    queue.append(record(6))
    queue.release()
    assert (queue.first, queue.memory_bytes, queue.disk_bytes) == (6, SIZE, 0)


def test_a_lack_shows_what_there_is_and_the_limits(make):
    queue = EntryQueue(2 * SIZE, make(limit=0))
    for seq in range(2):
        queue.append(record(seq))
    lack = queue.lack(3)
    assert "2 records are not durable there, no room for 3 more of up to 1.3 kB" in lack
    assert "0.0 of 0.0 MB on disk" in lack
