"""TensorBoard reads back what was written, also after restarts and a full disk."""

from __future__ import annotations

import math
import os

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from serl_controllers.testing import file_limit
from serl_learner.metrics_writer import (
    MAX_NAMES,
    MAX_NODES,
    BadMetrics,
    MetricsWriter,
    MetricsWriterConfig,
)


class Bench:
    """Writers to one directory, one after the other, and TensorBoard's own reader."""

    def __init__(self, directory):
        self.directory = directory
        self.said = []
        self.writer = None
        self.start()

    def start(self):
        if self.writer:
            self.writer.close()
        config = MetricsWriterConfig(str(self.directory))
        self.writer = MetricsWriter(config, self.said.append)

    def write(self, node, step, wall_time=1.0, **values):
        return self.writer.write(node, step, wall_time, list(values), list(values.values()))

    def read(self, node, tag):
        """(step, value) as TensorBoard shows them."""
        accumulator = EventAccumulator(str(self.directory / node), size_guidance={"scalars": 0})
        accumulator.Reload()
        return [(event.step, event.value) for event in accumulator.Scalars(tag)]


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path / "tensorboard")
    yield bench
    bench.writer.close()


def test_each_node_has_its_own_steps_and_the_wall_time_of_the_stamp(bench):
    assert bench.write("actor", 100, 1.7e9 + 0.25, **{"actor/episodes": 3, "actor/return": -0.5})
    assert bench.write("learner", 800, **{"learner/q": 2.0})
    assert bench.read("actor", "actor/episodes") == [(100, 3.0)]
    assert bench.read("actor", "actor/return") == [(100, -0.5)]
    assert bench.read("learner", "learner/q") == [(800, 2.0)]
    accumulator = EventAccumulator(str(bench.directory / "actor"))
    accumulator.Reload()
    assert accumulator.Scalars("actor/return")[0].wall_time == 1.7e9 + 0.25


def test_readers_see_every_message_at_once(bench):
    bench.write("actor", 1, x=1)
    accumulator = EventAccumulator(str(bench.directory / "actor"))
    accumulator.Reload()
    bench.write("actor", 2, x=2)
    accumulator.Reload()
    assert [event.step for event in accumulator.Scalars("x")] == [1, 2]


def test_a_node_that_counts_nothing_is_placed_at_the_actors_steps(bench):
    assert not bench.write("sim", 7, ms=1.0)  # no actor yet
    bench.write("actor", 500, x=1)
    bench.write("sim", 8, ms=2.0)
    bench.write("sim", 0, ms=3.0)  # the simulator was started again
    bench.write("actor", 510, x=1)
    bench.write("sim", 1, ms=4.0)
    assert bench.read("sim", "ms") == [(500, 2.0), (500, 3.0), (510, 4.0)]


def test_another_start_supersedes_what_comes_after_its_first_step(bench):
    for step in (10, 20, 30):
        bench.write("actor", step, x=step)
    bench.start()
    bench.write("actor", 20, x=-20)
    bench.write("actor", 25, x=-25)
    assert len(list((bench.directory / "actor").iterdir())) == 2
    assert bench.read("actor", "x") == [(10, 10), (20, -20), (25, -25)]


def test_steps_that_go_back_supersede_what_was_written(bench):
    for step in (10, 20, 30, 15, 20):
        bench.write("learner", step, x=-step if step in (15,) else step)
    assert bench.read("learner", "x") == [(10, 10), (15, -15), (20, 20)]


def test_files_are_read_in_the_order_they_were_made(bench):
    for start in range(4):
        bench.start()
        bench.write("actor", start, x=start)
    assert bench.read("actor", "x") == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_values_that_are_no_numbers_are_kept(bench):
    bench.write("learner", 1, loss=math.nan, q=math.inf, huge=1e300)
    assert math.isnan(bench.read("learner", "loss")[0][1])
    assert bench.read("learner", "q") == [(1, math.inf)]
    assert bench.read("learner", "huge") == [(1, math.inf)]


@pytest.mark.parametrize("left", [0, 1, 20])
def test_a_full_disk_loses_numbers_but_spoils_no_file(bench, left):
    bench.write("actor", 1, x=1)
    (file,) = (bench.directory / "actor").iterdir()
    with file_limit(file.stat().st_size + left):
        assert not bench.write("actor", 2, x=2)
        assert not bench.write("actor", 3, x=3)
        assert len(bench.said) == 1
        assert "File too large" in bench.writer.trouble
    assert bench.write("actor", 4, x=4)
    assert bench.said[1:] == ["metrics are written again; 2 messages were lost"]
    assert bench.read("actor", "x") == [(1, 1), (4, 4)]


def test_a_disk_that_is_full_from_the_start_gets_its_file_later(bench):
    with file_limit(0):
        assert not bench.write("actor", 1, x=1)
        assert list((bench.directory / "actor").iterdir()) == []
    assert bench.write("actor", 2, x=2)
    assert bench.read("actor", "x") == [(2, 2)]


def test_a_directory_that_cannot_be_made_is_tried_again(bench):
    bench.directory.write_text("in the way")
    assert not bench.write("actor", 1, x=1)
    bench.directory.unlink()
    assert bench.write("actor", 2, x=2)
    assert len(bench.said) == 2


def test_bad_messages_are_refused(bench):
    with pytest.raises(BadMetrics, match=r"'\.\./up'"):
        bench.write("../up", 1, x=1)
    with pytest.raises(BadMetrics, match="2 names and 1 values"):
        bench.writer.write("actor", 1, 1.0, ["a", "b"], [1.0])
    with pytest.raises(BadMetrics, match=f"at most {MAX_NAMES}"):
        bench.writer.write("actor", 1, 1.0, ["a"] * (MAX_NAMES + 1), [1.0] * (MAX_NAMES + 1))
    with pytest.raises(BadMetrics, match="step 9223372036854775808"):
        bench.write("actor", 2**63, x=1)
    for number in range(MAX_NODES - 1):
        bench.write("actor", 1, x=1)
        bench.write(f"node{number}", 1, x=1)
    with pytest.raises(BadMetrics, match=f"more than {MAX_NODES} nodes"):
        bench.write("one_more", 1, x=1)
    assert sorted(os.listdir(bench.directory.parent)) == ["tensorboard"]


def test_configuration_says_what_is_wrong():
    with pytest.raises(ValueError, match="directory is empty"):
        MetricsWriterConfig()
    with pytest.raises(ValueError, match="clock_node 'sim'"):
        MetricsWriterConfig("x", clock_node="sim")
