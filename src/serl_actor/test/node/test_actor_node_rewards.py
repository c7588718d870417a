"""The actor node with a reward classifier: matched by stamp and step, not waited for in vain,
overruled by a person."""

from __future__ import annotations

from rclpy.node import Node
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from serl_controllers.ros_qos import INTERVENTION, REWARD, STATE
from serl_interfaces.msg import Intervention, Observation, RewardEstimate
from serl_learner.types import Record, Source

QUICK = {"reward__source": "classifier", "reward__retry_period": 0.1}


class FakeClassifier(Node):
    """Answers the observations of each episode; `succeed_at`: which one of it is a success.

    `lost`: so many first answers are lost; `mute`: none is given; `shift`: added to the step of
    every answer; `stale`: added to its stamp [s]; `frames`: for which it is one.
    """

    def __init__(
        self, succeed_at=2, lost=0, mute=False, shift=0, stale=0, frames=0, **kwargs
    ) -> None:
        super().__init__("reward_classifier", **kwargs)
        self.succeed_at, self.lost, self.mute = succeed_at, lost, mute
        self.shift, self.stale, self.frames = shift, stale, frames
        self.steps: list[int] = []
        self._publisher = self.create_publisher(RewardEstimate, "reward_estimate", REWARD)
        self.create_subscription(Observation, "observation", self._on_observation, STATE)

    def _on_observation(self, message: Observation) -> None:
        if not self.steps or message.step > self.steps[-1] + 1:
            self._first = message.step
        self.steps.append(message.step)
        if self.mute:
            return
        if self.lost > 0:
            self.lost -= 1
            return
        stamp = message.header.stamp
        stamp.sec += self.stale
        self._publisher.publish(
            RewardEstimate(
                header=Header(stamp=stamp),
                step=message.step + self.shift,
                probability=0.75,
                frames=self.frames,
                success=message.step - self._first == self.succeed_at,
                model_id="abc",
                threshold=0.5,
            )
        )


def online(learner) -> list[Record]:
    return learner.of(Source.POLICY)


def test_the_estimate_decides_and_every_observation_is_judged(bench):
    learner = bench.learner()
    classifier = bench.add(FakeClassifier)
    bench.sim()
    bench.actor(**QUICK)
    bench.wait_phase(learner, "done")
    first = online(learner)[:3]
    assert [r.reward for r in first] == [0.0, 1.0, 0.0]
    assert (first[1].terminated, first[2].last, first[2].success) == (True, True, True)
    assert [float(r.extras["reward/probability"]) for r in first] == [0.75] * 3
    assert not any(bool(r.extras["label/success"]) for r in first)
    assert classifier.steps[:4] == [1, 2, 3, 5]  # three of the episode, then a gap


def test_the_steps_to_all_frames_that_make_a_success_are_rewarded(bench):
    learner = bench.learner()
    bench.add(FakeClassifier, succeed_at=3, frames=2)
    bench.sim()
    bench.actor(**QUICK)
    bench.wait_phase(learner, "done")
    first = online(learner)[:4]
    assert [r.reward for r in first] == [0.0, 0.0, 1.0, 0.0]
    relabel = learner.relabels()[0]
    assert (relabel.first_seq, relabel.last_seq) == (first[1].seq, first[1].seq)
    assert (relabel.reward, relabel.terminated) == (1.0, True)
    assert first[2].seq < relabel.seq < first[3].seq


def test_an_answer_that_is_lost_is_asked_for_again(bench):
    learner = bench.learner()
    classifier = bench.add(FakeClassifier, lost=3)
    bench.sim()
    bench.actor(**QUICK)
    bench.wait_phase(learner, "done")
    assert [r.reward for r in online(learner)[:2]] == [0.0, 1.0]
    assert classifier.steps[:4] == [1, 1, 1, 1]


def assert_no_success(bench, learner):
    bench.wait_phase(learner, "done")
    assert all(r.reward == 0.0 and not r.success for r in online(learner))
    # Both evaluations and the training, five observations each.
    bench.wait(lambda: learner.metrics.get("actor/missing_estimates") == 15, "the count")


def test_a_classifier_that_is_silent_makes_no_success_and_is_counted(bench):
    learner = bench.learner()
    bench.add(FakeClassifier, mute=True)
    bench.sim()
    bench.actor(**QUICK, reward__lockstep_limit=0.15)
    bench.wait(lambda: learner.said("the reward classifier"), "the actor to say so", learner)
    assert_no_success(bench, learner)


def test_an_estimate_of_another_step_is_none(bench):
    learner = bench.learner()
    bench.add(FakeClassifier, succeed_at=1, shift=1)
    bench.sim()
    bench.actor(**QUICK, reward__lockstep_limit=0.15)
    assert_no_success(bench, learner)


def test_an_estimate_of_another_stamp_is_none(bench):
    learner = bench.learner()
    bench.add(FakeClassifier, stale=1)
    bench.sim()
    bench.actor(**QUICK, reward__lockstep_limit=0.15)
    assert_no_success(bench, learner)


def test_it_waits_for_the_classifier_and_goes_on_when_it_appears(bench):
    learner = bench.learner()
    bench.sim()
    bench.actor(**QUICK)
    bench.wait(lambda: learner.said("the reward classifier"), "the actor to wait", learner)
    assert not online(learner)
    bench.add(FakeClassifier)
    bench.wait_phase(learner, "done")
    assert online(learner)[1].reward == 1.0


def test_a_veto_relabels_the_success_that_was_sent(bench):
    learner = bench.learner()
    bench.add(FakeClassifier)
    bench.sim()
    bench.actor(**QUICK, job__evaluation_episodes=0)
    bench.wait_phase(learner, "done")
    rewarded = [r for r in learner.records if r.reward == 1.0][-1]
    client = learner.create_client(Trigger, "veto_success")
    bench.wait(client.service_is_ready, "the service", learner)
    future = client.call_async(Trigger.Request())
    bench.wait(future.done, "its answer", learner)
    assert future.result().success, future.result().message
    bench.wait(learner.relabels, "the relabel", learner)
    (relabel,) = learner.relabels()
    assert (relabel.first_seq, relabel.last_seq) == (rewarded.seq, rewarded.seq)
    assert (relabel.reward, relabel.terminated) == (0.0, False)
    again = client.call_async(Trigger.Request())
    bench.wait(again.done, "its answer", learner)
    assert not again.result().success
    bench.wait(lambda: learner.metrics.get("actor/vetoes") == 1, "the count", learner)


def test_a_button_that_goes_down_vetoes_once(bench):
    learner = bench.learner()
    bench.add(FakeClassifier)
    bench.sim()
    bench.actor(**QUICK)
    bench.wait_phase(learner, "done")
    device = learner.create_publisher(Intervention, "intervention", INTERVENTION)
    bench.wait(lambda: device.get_subscription_count() >= 2, "the actor to listen", learner)
    for _ in range(3):
        device.publish(Intervention(buttons=["veto"], device="spacemouse"))
    device.publish(Intervention(buttons=[], device="spacemouse"))
    bench.wait(learner.relabels, "the relabel", learner)
    bench.wait(lambda: learner.metrics.get("actor/vetoes") == 1, "the count", learner)


def test_a_button_held_against_a_success_prevents_it_and_takes_none_back(bench):
    learner = bench.learner()
    bench.sim()
    bench.actor(**QUICK, job__evaluation_episodes=0, task__episode_steps=6, job__max_env_steps=8)
    device = learner.create_publisher(Intervention, "intervention", INTERVENTION)
    bench.wait(lambda: device.get_subscription_count() >= 2, "the actor to listen", learner)

    def holding(condition):
        device.publish(Intervention(buttons=["veto"], device="spacemouse"))
        return condition()

    bench.wait(lambda: holding(lambda: learner.said("the reward classifier")), "it to wait")
    bench.add(FakeClassifier)
    bench.wait(lambda: holding(lambda: learner.phase == "done"), "the end", learner)
    episodes = [r.episode for r in online(learner) if r.reward == 1.0]
    assert episodes == [1]  # one press is not against two
    assert not learner.relabels()
    bench.wait(lambda: learner.metrics.get("actor/vetoes") == 1, "the count", learner)
