"""Carries out what the job commands in one thread: the simulation and the learner by turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jax
import numpy as np

from serl_actor.drivers import CorrectedDriver, EvaluationDriver, OperatorDriver, RandomDriver
from serl_actor.environment import Environment
from serl_actor.evaluation import Evaluation, summarise
from serl_actor.frame_history import FrameHistory
from serl_actor.job import Phase, Training
from serl_actor.labelling import LabelledDriver, Labelling
from serl_actor.operator_keys import OperatorKeys
from serl_actor.policy_source import Snapshot
from serl_actor.recorder import Recorder
from serl_actor.rollout import Choice, Driver, Episode, by_pose, run_episode
from serl_actor.training import intervention_metrics
from serl_actor.wandering import WanderingDriver
from serl_franka_bringup.simulation_client import Setup
from serl_learner.learner import Learner
from serl_learner.policy import Policy
from serl_learner.types import Entry, Observation, Record, Relabel, Source, spec_of

Report = Callable[[dict[str, Any]], None]


class InProcessCrew:
    """What the job commands, without processes: every record is trained on at once.

    `points` gets one every `report_every` online steps, `evaluations` one after the episode
    that completes `eval_every` of them, of `eval_episodes` each or as many as the job has. With
    `log` records go there and nothing is learned; `session` is what they carry.
    """

    def __init__(
        self,
        setup: Setup,
        report: Report = lambda _: None,
        report_every: int = 100,
        eval_every: int | None = None,
        eval_episodes: int | None = None,
        log: Callable[[Record], None] | None = None,
        session: bytes = bytes(16),
    ) -> None:
        self._log = log
        self._setup, self._seed, self._report = setup, setup.seed, report
        self._report_every, self._eval_every = report_every, eval_every
        self._eval_episodes = eval_episodes or setup.job.evaluation_episodes
        self._environment = Environment(
            setup.client, setup.task, cameras=setup.cameras, judge=setup.judge
        )
        observation, _ = self._environment.reset(seed=setup.seed)
        self._spec = spec_of(observation)
        self._stack = setup.learner.agent.encoder.stack
        self._history = FrameHistory(self._stack)
        self._key = jax.random.PRNGKey(setup.seed + 1)
        self._labelling = Labelling(setup.job.labels, OperatorKeys())
        self._recorder = Recorder(session, "in process", self._take)
        self._begun = 0
        self._training = Training()
        self._evaluated_at = 0
        self._metrics: Mapping[str, float] = {}
        self._began = time.monotonic()
        self.points: list[dict[str, Any]] = []
        self.evaluations: list[dict[str, Any]] = []
        self.operator_episodes: list[Episode] = []
        self.demonstrated: list[Record] = []  # of the successful demonstrations

    @cached_property
    def learner(self) -> Learner:
        """Made when it is first needed: who only records frames has none."""
        setup = self._setup
        dim = setup.task.action_dim
        return Learner(setup.learner, self._spec, dim, self._seed, goals=setup.goals)

    @cached_property
    def _policy(self) -> Policy:
        return Policy(self._spec, self._setup.task.action_dim, self._setup.learner.agent)

    def _take(self, record: Entry) -> None:
        """The learner's turn: takes the record and does every update that is due."""
        if isinstance(record, Relabel):
            self.learner.relabel(record)
            return
        if self._log is not None:
            self._log(record)
            return
        before = self.learner.online_steps // self._report_every
        self.learner.add(record)
        if record.source == Source.DEMO:
            self.demonstrated.append(record)
        while (metrics := self.learner.work()) is not None:
            self._metrics = metrics
            self._judge_anew()
        if self.learner.online_steps // self._report_every > before:
            self.points.append(self._point())
            self._report(self.points[-1])

    def _judge_anew(self) -> None:
        """With vice the judge is the classifier as it is now."""
        goals, judge, vice = self._setup.goals, self._setup.judge, self.learner.agent.vice
        if goals is not None and judge is not None and vice is not None:
            judge.adopt(goals.model(vice))

    def _point(self) -> dict[str, Any]:
        recent = self._training.recent
        return {
            "env_steps": self.learner.online_steps,
            "updates": self.learner.updates,
            "success_last_20": self._training.success,
            "alone_last_20": self._training.alone,
            "length_last_20": float(np.mean([e.steps for e in recent])) if recent else None,
            **(intervention_metrics(recent) if recent else {}),
            **self._metrics,
            "wall_s": round(time.monotonic() - self._began, 2),
        }

    def say(self, phase: Phase, driver: str = "", detail: str = "") -> None:
        """Only the operator listens, and who films the episodes of the last evaluation."""
        self._setup.client.watch(phase, driver, detail)

    def demonstrations(self) -> int:
        """Successful ones that the learner holds."""
        return self.learner.demonstrations

    def snapshot(self) -> Snapshot:
        """A copy of the policy as it is now."""
        # Copied: an update donates what it gets.
        params = jax.tree.map(jax.numpy.copy, self.learner.policy_params())
        blocks, updates = self.learner.blocks, self.learner.updates
        return Snapshot(blocks, updates, params, time.monotonic(), encoded=None)  # type: ignore[arg-type]

    def acted(self) -> Snapshot:
        """The policy that acted last; the newest, as they take turns."""
        return self.snapshot()

    def lacks_policy(self) -> bool:
        """Never: the learner has one from the start."""
        return False

    def settle(self) -> None:
        """The learner has every record already."""

    def operator(self) -> Driver:
        """The scripted expert."""
        return OperatorDriver(self._setup.client, self._setup.task.action_dim)

    def random(self) -> Driver:
        """Acts by chance."""
        return RandomDriver(self._setup.task.action_dim, self._seed)

    def labelled(self, by_chance: bool) -> Driver:
        """The scripted expert, or chance, in episodes whose frames are labelled."""
        seed, task = self._seed + 3 + self._begun, self._setup.task
        driver: Driver = WanderingDriver(task, seed) if by_chance else self.operator()
        return LabelledDriver(driver, self._labelling, task.action_dim, seed)

    def learner_trains(self) -> bool:
        """An update is due or done."""
        return self.learner.training

    def policy(self, interventions: bool) -> Driver:
        """Acts with the learner's own parameters, sampled; the scripted person may take over."""
        if not interventions:
            return self
        if not self._setup.client.corrects:
            raise ValueError("nobody takes over from the policy: interventions is not 'scripted'")
        return CorrectedDriver(self, self._setup.client)

    def remembered(self) -> Training:
        """Every run begins anew."""
        return self._training

    def begin(self) -> None:
        """As the driver of training: forgets the pictures seen."""
        self._history.begin()

    def choose(self, observation: Observation, state: Any) -> Choice:
        """As the driver of training: a sample of the newest policy."""
        self._key, key = jax.random.split(self._key)
        seen = self._history.extend(observation)
        action = self._policy.sample(self.learner.policy_params(), seen, key)
        return Choice(action, Source.POLICY, self.learner.blocks)

    def evaluated(self, snapshot: Snapshot, deterministic: bool) -> Driver:
        """Acts with one fixed policy."""
        return EvaluationDriver(self._policy, snapshot, deterministic, self._seed, self._stack)

    def run(self, driver: Driver, seed: int | None = None) -> Episode:
        """One episode; without `seed` the starts follow from the run's seed, as for the node."""
        if seed is None:
            sequence = np.random.SeedSequence((self._seed, self._begun))
            seed = int(sequence.generate_state(1)[0])
            self._begun += 1
        demonstrates = isinstance(driver, OperatorDriver)
        labelling = driver.labelling if isinstance(driver, LabelledDriver) else None
        with by_pose(self._environment, demonstrates and not self._setup.judge_demonstrations):
            episode = run_episode(
                self._environment, driver, self._recorder, seed, demonstrates, labelling
            )
        self._setup.client.outcome("success" if episode.success else "not solved")
        if demonstrates:
            self.operator_episodes.append(episode)
        return episode

    def keep_best(self, snapshot: Snapshot) -> None:
        """The job keeps it itself."""

    def progress(self, training: Training) -> None:
        """Evaluates the newest policy when it is time to."""
        self._training = training
        every = self._eval_every
        if every is None or training.env_steps // every == self._evaluated_at // every:
            return
        self._evaluated_at = training.env_steps
        snapshot, job, results = self.snapshot(), self._setup.job, {}
        for name in ("deterministic", "sampled"):
            driver = self.evaluated(snapshot, name == "deterministic")
            seeds = range(job.evaluation_seed, job.evaluation_seed + self._eval_episodes)
            episodes = [self.run(driver, number) for number in seeds]
            results[name] = Evaluation.of(episodes)
        self.evaluations.append({"env_steps": training.env_steps, **summarise(results, "sampled")})
