"""The actor node with a camera, over real topics."""

from __future__ import annotations

import itertools

from fakes import DOWN, PERIOD_NS

from serl_actor.observation import FINE, KEYS
from serl_controllers.ros_qos import STATE
from serl_interfaces.msg import Observation
from serl_learner.agents.config import SACConfig
from serl_learner.policy import Policy
from serl_learner.types import Source
from serl_learner.vision.config import EncoderConfig

SEEING = {"agent.encoder.kind": "small", "agent.encoder.stack": 2, "cameras.image_size": 32}


def seeing_policy() -> Policy:
    """Of two pictures of one camera at once, as SEEING says it to the actor."""
    spec = {key: ((6,), "float32") for key in KEYS if key != FINE}
    spec["image/wrist"] = ((32, 32, 3), "uint8")
    config = SACConfig(hidden=(8,), encoder=EncoderConfig(kind="small", stack=2))
    return Policy(spec, 6, config)


def test_a_whole_job_that_sees(bench):
    """Each record has the picture of its own state: the camera counts the states."""
    seen = []
    learner = bench.learner(held=0, policy=seeing_policy())
    learner.create_subscription(Observation, "observation", seen.append, STATE)
    sim = bench.sim(twist=DOWN, cameras=["wrist"])
    bench.actor(**SEEING, cameras__names=["wrist"], job__demonstrations=1, job__max_env_steps=40)
    bench.wait_phase(learner, "done")
    online = learner.of(Source.POLICY)
    assert online[0].observation["image/wrist"].shape == (32, 32, 3)
    assert FINE not in online[0].observation
    for first, second in itertools.pairwise(online):
        if not first.last:
            shown = [int(r.observation["image/wrist"][0, 0, 0]) for r in (first, second)]
            assert (shown[1] - shown[0]) % 256 == 1
            assert second.stamp_ns - first.stamp_ns == PERIOD_NS
    assert sim.cameras["wrist"].taken > 40
    picture = next(t for t in seen[0].tensors if t.name == "image/wrist")
    assert (picture.dtype, list(picture.shape)) == ("uint8", [32, 32, 3])
    assert seen[0].header.frame_id == "start"


def test_case_04_a_camera_that_is_not_there_is_what_the_actor_waits_for(bench):
    learner = bench.learner(policy=seeing_policy())
    sim = bench.sim(cameras=["wrist"])
    sim.cameras["wrist"].closed = True
    bench.actor(**SEEING, cameras__names=["wrist"], robot__state_timeout=0.3)
    bench.wait(lambda: learner.said("camera wrist"), "the actor to wait for the camera", learner)
    assert learner.records == []
    sim.cameras["wrist"].closed = False
    bench.wait_phase(learner, "done")
