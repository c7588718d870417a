"""The simulation as a RobotClient called directly, and everything a task needs in one process."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serl_actor.agreement import check_grasp
from serl_actor.camera_views import CamerasConfig
from serl_actor.frames import Frame
from serl_actor.intervention import Intervention
from serl_actor.job import JobConfig, Phase
from serl_actor.reward_judge import LocalJudge, RewardConfig
from serl_actor.task import TaskConfig
from serl_controllers.arm import ArmState, ArmTarget
from serl_controllers.geometry import Pose
from serl_franka_bringup import config, graph, rewards
from serl_franka_bringup.settings import assignments
from serl_franka_bringup.task import find_task_file, load_task
from serl_learner.learner import LearnerConfig
from serl_learner.learner_session import SessionConfig
from serl_sim.compliance import Compliance
from serl_sim.config import CamerasConfig as RigConfig
from serl_sim.config import FilmConfig, SceneConfig
from serl_sim.expert import ExpertConfig
from serl_sim.experts import make_expert
from serl_sim.scripted_person import WHEN_DRIFTING, PersonConfig, ScriptedPerson
from serl_sim.simulation import Simulation

if TYPE_CHECKING:
    from serl_learner.rewards.goals import Goals
    from serl_sim.camera_rig import CameraRig
    from serl_sim.film import Film


class SimulationClient:
    """A RobotClient without ROS; the scripted expert is its operator."""

    def __init__(
        self,
        simulation: Simulation,
        person: ScriptedPerson,
        film: FilmConfig | None = None,
        rig: CameraRig | None = None,
        corrects: bool = False,
    ) -> None:
        """`film`: what `watch` asks for is filmed. Raises SceneError, GLError, OSError then.

        `rig`: the robot's cameras, drawn whenever pictures are asked for; the episodes' looks.
        `corrects`: in training the operator takes over when the policy drifts.
        """
        self._simulation, self._person, self._rig = simulation, person, rig
        self.corrects = corrects
        self._watches_policy = False
        simulation.dress(rig)
        self._film: Film | None = None
        if film is not None and film.directory:
            from serl_sim.film import Film  # loads OpenGL and FFmpeg: only if asked for

            self._film = Film(simulation, film, print)

    def reset(self, start: Pose, seed: int) -> ArmState:
        """Draws the scene and places the tool; the expert, who sees the socket, begins anew."""
        state = self._simulation.reset(seed, start, randomise=True)
        self._person.reset(seed, self._simulation.fixture)
        self._person.see_object(self._simulation.object)
        return state

    def step(self, target: ArmTarget) -> ArmState:
        """One control period."""
        state = self._simulation.step(target)
        self._person.see_object(self._simulation.object)
        self._person.see(state)
        return state

    def images(self) -> dict[str, Frame]:
        """What the cameras see now."""
        if self._rig is None:
            return {}
        stamp_ns = self._simulation.state().stamp_ns
        pictures = self._rig.render(self._simulation.data)
        return {name: Frame(stamp_ns, pixels) for name, pixels in pictures.items()}

    def fixture(self) -> Pose:
        """Where the socket is in this episode."""
        return self._simulation.fixture

    def object(self) -> Pose | None:
        """Where what is to be moved is now; None: the scene has no such thing."""
        return self._simulation.object

    def hold(self) -> None:
        """Nothing to do: without a command no time passes."""

    def intervention(self, state: ArmState) -> Intervention:
        """What the expert does about `state`; if the policy is watched, whether they drive."""
        said = self._person.answer(state, self._watches_policy)
        return Intervention(
            state.stamp_ns, said.drives, said.action, gripper=said.gripper, device="expert"
        )

    def watch(self, phase: Phase, driver: str, note: str) -> None:
        """Whose episodes come: those of an evaluation are filmed, if films are made, with these
        words in them; in training the operator watches the policy, if that is what they do."""
        self._watches_policy = self.corrects and phase is Phase.TRAINING
        if self._film is not None:
            self._simulation.watch(self._film if phase is Phase.EVALUATION else None)
            self._film.caption(driver, note)

    def outcome(self, text: str) -> None:
        """How the episode went: the end of its film."""
        if self._film is not None:
            self._film.outcome(text, self._simulation.state().stamp_ns)
            self._film.end()

    def close(self) -> None:
        """Finishes the last film, and draws no more."""
        if self._film is not None:
            self._film.close()
        if self._rig is not None:
            self._rig.close()


@dataclass(frozen=True)
class Setup:
    """A task in one process, configured as its nodes would be."""

    seed: int
    task: TaskConfig
    job: JobConfig
    learner: LearnerConfig
    cameras: CamerasConfig
    client: SimulationClient
    judge: LocalJudge | None = None  # who says what a success is; None: the pose
    judge_demonstrations: bool = True  # or the pose does
    goals: Goals | None = None  # with vice


def load_setup(
    task: str,
    arguments: graph.Arguments,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    film_dir: str = "",
) -> Setup:
    """The setup of `task` (a name or a YAML file); films of evaluations go to `film_dir`, if any.

    The rest is as for graph.make_graph.

    Raises:
      ConfigError: a figure cannot be, or does not go with another.
    """
    file = load_task(find_task_file(task), graph.NODES)
    arguments = rewards.complete(file, arguments, Path("runs"))
    nodes = graph.make_graph(file, arguments, overrides, cores=1)
    tree = {node.name: config.unflatten(node.parameters) for node in nodes}
    scene = config.build(SceneConfig, tree["sim"]["scene"], "sim.scene")
    compliance = config.build(Compliance, tree["sim"]["compliance"], "sim.compliance")
    expert = config.build(ExpertConfig, tree["expert"]["expert"], "expert.expert")
    person = config.build(PersonConfig, tree["expert"].get("person", {}), "expert.person")
    operator = ScriptedPerson(make_expert(expert), person)
    not_learning = {field.name for field in dataclasses.fields(SessionConfig)}
    not_learning |= {"goals_dir"}
    learner = {k: v for k, v in tree["learner"].items() if k not in not_learning}
    built = config.build(LearnerConfig, learner, "learner")
    acting = config.build(TaskConfig, tree["actor"]["task"], "actor.task")
    try:
        check_grasp(acting.gripper, built.agent.grasp.enabled)
    except ValueError as error:
        raise config.ConfigError(f"{file.path}: {error}") from error
    law = compliance.law_parameters(scene.target)
    simulation = Simulation(scene, law, tree["sim"]["control_period"])
    cameras = config.build(RigConfig, tree["sim"].get("cameras", {}), "sim.cameras")
    rig = _open_rig(cameras, simulation)
    film = config.build(FilmConfig, {**tree["sim"].get("video", {}), "directory": film_dir}, "film")
    goals = _load_goals(arguments, built)
    reward = config.build(RewardConfig, tree["actor"].get("reward", {}), "actor.reward")
    return Setup(
        seed=arguments.seed,
        job=config.build(JobConfig, tree["actor"].get("job", {}), "actor.job"),
        task=acting,
        learner=built,
        cameras=config.build(CamerasConfig, tree["actor"].get("cameras", {}), "actor.cameras"),
        client=SimulationClient(
            simulation, operator, film, rig, tree["expert"].get("intervene") == WHEN_DRIFTING
        ),
        judge=_load_judge(tree.get("reward_classifier"), goals),
        judge_demonstrations=reward.demonstrations,
        goals=goals,
    )


def load_given(given: argparse.Namespace, film_dir: str = "", **arguments: Any) -> Setup:
    """The setup of a command line with `--task` and `--set`; `arguments` are graph.Arguments'."""
    _, overrides = graph.parse_arguments(assignments(given))
    return load_setup(given.task, graph.Arguments(**arguments), overrides, film_dir)


def _load_goals(arguments: graph.Arguments, learner: LearnerConfig) -> Goals | None:
    """With vice, the goals as the learner's node would load them. Raises BadFrames."""
    if not arguments.by_vice:
        return None
    from serl_learner.rewards.goals import load_goals  # these compile
    from serl_learner.ros_log import read_episode

    agent, directory = learner.agent, Path(arguments.goals_dir)
    return load_goals(directory, read_episode, agent.vice, agent.encoder, arguments.seed)


def _load_judge(parameters: Mapping[str, Any] | None, goals: Goals | None) -> LocalJudge | None:
    """The classifier as its node would load it.

    Raises:
      ModelError, WeightsError, ValueError: it cannot be used.
    """
    if parameters is None:
        return None
    from serl_learner.rewards.estimator import RewardEstimator  # these compile
    from serl_learner.rewards.model import Judgement
    from serl_learner.rewards.model_file import read_model

    model = goals.model(goals.first) if goals else read_model(Path(parameters["model"]))
    said = {name: parameters[name] for name in ("threshold", "frames") if name in parameters}
    return LocalJudge(RewardEstimator(Judgement(model), **said))


def _open_rig(cameras: RigConfig, simulation: Simulation) -> CameraRig | None:
    """The robot's cameras; None: it has none.

    Raises:
      GLError: nothing here can draw.
      ConfigError: the scene has no such camera.
    """
    if not cameras.names:
        return None
    from serl_sim.camera_rig import CameraRig  # loads OpenGL: only if there is something to see

    try:
        return CameraRig(simulation.model, cameras)
    except ValueError as error:
        raise config.ConfigError(f"sim.cameras: {error}") from error
