"""Recording demonstrations: until there are enough, with or without those that fail; and when the
pictures of a record were taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import FakeArm
from test_job import FakeCrew

from serl_actor.camera_views import CamerasConfig
from serl_actor.environment import Environment
from serl_actor.frames import Frame
from serl_actor.intervention import Intervention
from serl_actor.job import Job, JobConfig, JobFailed, Phase
from serl_actor.observer import observation_spec
from serl_actor.recorder import Recorder
from serl_actor.rollout import Choice, run_episode
from serl_learner.types import Source

CAMERAS = CamerasConfig(("wrist", "side"), 32)


def test_it_records_until_the_learner_holds_enough():
    crew = FakeCrew(held=1, demo_succeeds=lambda count: count % 2 == 0)
    result = Job(JobConfig(kind="record", demonstrations=4), crew, crew.clock).run()
    assert (result["demonstrations"], result["episodes"]) == (4, 5)
    assert crew.phases == [Phase.STARTING, Phase.DEMONSTRATIONS]
    assert crew.log[-1] == ("settle", None)


def test_an_operator_who_never_succeeds_ends_it():
    crew = FakeCrew(demo_succeeds=lambda count: False)
    config = JobConfig(kind="record", demonstrations=4, demonstration_attempts=3)
    with pytest.raises(JobFailed, match="0 of 4 demonstrations after 3 attempts"):
        Job(config, crew, crew.clock).run()


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind 'nothing' is none of train, record"):
        JobConfig(kind="nothing")


def stays(state):
    return Intervention(0, True, np.zeros(6))


@pytest.mark.parametrize("keep", [False, True])
def test_a_demonstration_that_fails_is_recorded_if_asked_for(make_crew, keep):
    parts = make_crew(keep_failures=keep, arm=FakeArm(operator=stays))
    episode = parts.crew.run(parts.crew.operator())
    assert not episode.success
    records = parts.link.records
    assert len(records) == (6 if keep else 0)
    assert all(record.source == Source.DEMO for record in records)


class Still:
    """A driver that does nothing."""

    def begin(self):
        pass

    def choose(self, observation, state):
        return Choice(np.zeros(6), Source.POLICY)


def records_of(task, lag_ns: dict[str, int]):
    """An episode with pictures that were taken so long before the state."""

    def look(state):
        pixels = np.zeros((32, 32, 3), np.uint8)
        return {name: Frame(state.stamp_ns - lag_ns[name], pixels) for name in CAMERAS.names}

    records = []
    environment = Environment(FakeArm(camera=look), replace(task, episode_steps=3), cameras=CAMERAS)
    run_episode(environment, Still(), Recorder(bytes(16), "actor", records.append), seed=0)
    return records


def test_a_record_says_when_its_pictures_were_taken(task):
    records = records_of(task, {"wrist": 30_000_000, "side": 0})
    assert len(records) == 4
    for record in records:
        assert record.extras.keys() == {"time/image/wrist"}
        taken = record.extras["time/image/wrist"]
        assert (taken.dtype, taken.shape) == (np.int64, ())
        assert record.stamp_ns - int(taken) == 30_000_000


def test_pictures_of_the_states_own_stamp_need_no_word(task):
    assert all(not record.extras for record in records_of(task, {"wrist": 0, "side": 0}))


def test_the_layout_is_that_of_what_is_observed(task):
    spec = observation_spec(CAMERAS)
    assert spec["image/side"] == ((32, 32, 3), "uint8")
    assert "state/tcp_fine" not in spec
    without = Environment(FakeArm(), task)
    observation, _ = without.reset(seed=0)
    assert observation_spec(CamerasConfig()).keys() == observation.keys()
