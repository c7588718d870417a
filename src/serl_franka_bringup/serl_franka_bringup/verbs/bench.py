"""`bench`: measures this machine: the simulator, the controller, the learner, or all.

Every row has a value and a reference measured in the same run (or the aim), and their ratio.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from serl_controllers.domain import Domain
from serl_franka_bringup import config, graph
from serl_franka_bringup.output import write_json
from serl_franka_bringup.run_directory import RunDirectory
from serl_franka_bringup.session import make_programs
from serl_franka_bringup.supervisor import Supervisor
from serl_franka_bringup.task import OBSERVATIONS, find_task_file, load_task

HELP = "measure this machine"
EXAMPLES = """examples:
  ./serl bench sim
  ./serl bench learner --vision
  ./serl bench all --json bench.json"""

AIM = 200.0  # lockstep environment steps/s through ROS
Rows = list[dict[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parts = ("sim", "controller", "learner", "all")
    parser.add_argument("what", choices=parts, help="what to measure")
    parser.add_argument(
        "--vision", action="store_true", help="with learner: learning from images; minutes"
    )
    parser.add_argument("--steps", type=int, default=1000, help="through ROS (default 1000)")


def run(arguments: argparse.Namespace) -> int:
    """Prints the rows as they come."""
    through_ros = [partial(_through_ros, arguments.steps, name) for name in OBSERVATIONS]
    parts: dict[str, list[Callable[[], Iterable[dict[str, Any]]]]] = {
        "sim": [_rows_of("serl_sim.benchmark"), *through_ros],
        "controller": [_rows_of("serl_controllers.tick_benchmark")],
        "learner": [_rows_of("serl_learner.benchmark")],
    }
    if arguments.vision:
        if arguments.what != "learner":
            print(f"bench: --vision is of learner, not of {arguments.what}", file=sys.stderr)
            return 2
        parts["learner"] = [_rows_of("serl_learner.vision_benchmark")]
    chosen = list(parts) if arguments.what == "all" else [arguments.what]
    print(f"{'name':<44}{'value':>10} {'unit':<12}{'reference':>10}{'ratio':>8}")
    rows: Rows = []
    for measure in (measure for part in chosen for measure in parts[part]):
        for row in measure():
            rows.append(row)
            print(_line(row), flush=True)
    write_json(arguments.json, {"success": True, "rows": rows})
    return 0


def _rows_of(module: str) -> Callable[[], Iterable[dict[str, Any]]]:
    return lambda: importlib.import_module(module).run()


def _through_ros(steps: int, observation: str) -> Iterable[dict[str, Any]]:
    yield ros_lockstep(steps, observation)


def _line(row: dict[str, Any]) -> str:
    reference = f"{row['reference']:.4g}" if row["reference"] is not None else "-"
    ratio = f"{row['ratio']:.2f}" if row["ratio"] is not None else "-"
    return f"{row['name']:<44}{row['value']:>10.4g} {row['unit']:<12}{reference:>10}{ratio:>8}"


def ros_lockstep(steps: int, observation: str, task: str = "pcb") -> dict[str, Any]:
    """Environment steps/s through ROS: this process and the sim node's."""
    from serl_actor.camera_views import CamerasConfig
    from serl_actor.task import TaskConfig
    from serl_franka_bringup.ros_lockstep import steps_per_second

    file = load_task(find_task_file(task), graph.NODES)
    nodes = graph.make_graph(file, graph.Arguments(observation=observation))
    by_name = {node.name: node for node in nodes}
    tree = config.unflatten(by_name[graph.JOB_NODE].parameters)
    task_config = config.build(TaskConfig, tree["task"], "actor.task")
    cameras = config.build(CamerasConfig, tree.get("cameras", {}), "actor.cameras")
    with tempfile.TemporaryDirectory() as scratch, RunDirectory(Path(scratch)) as directory:
        domain = Domain(directory.path)
        programs = make_programs([by_name["sim"]], directory)
        environment = {"ROS_DOMAIN_ID": str(domain.id)}
        with Supervisor(programs, directory.path / "logs", environment) as supervisor:
            supervisor.start()
            rate = steps_per_second(domain.id, task_config, cameras, steps)
        domain.close()
    return {
        "name": f"sim/ros_lockstep_steps_{observation}",
        "value": rate,
        "unit": "1/s",
        "reference": AIM if observation == "state" else None,
        "ratio": rate / AIM if observation == "state" else None,
    }
