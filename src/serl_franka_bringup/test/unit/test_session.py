"""What ends a session, and what does not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from serl_franka_bringup import graph
from serl_franka_bringup.progress import Progress, Status
from serl_franka_bringup.session import Ending, _Loop
from serl_franka_bringup.supervisor import Death
from serl_franka_bringup.task import load_task

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"


def death(name: str, code: int = 1, restart_in: float | None = None) -> Death:
    return Death(name, code, Path(f"{name}.log"), ("last words",), restart_in)


def session(*deaths: Death) -> tuple[Ending, list[str]]:
    """A training that is done one look after all have died at once, and what was said."""
    progress = Progress(0.0)
    looks = [list(deaths)]

    def poll(*_):
        if looks:
            return looks.pop()
        progress.add_status("actor", Status("done"))
        return []

    said: list[str] = []
    task = load_task(PCB, graph.NODES)
    arguments = graph.Arguments(run_dir="/run", rviz=True)
    loop = _Loop(
        supervisor=SimpleNamespace(poll=poll),
        monitor=SimpleNamespace(listen=lambda period: None),
        progress=progress,
        view=SimpleNamespace(say=said.append, update=lambda: None),
        interrupts=SimpleNamespace(count=0),
        job_node="actor",
        companions=(),
        vital=frozenset(n.name for n in graph.make_graph(task, arguments) if n.vital),
    )
    return loop.run(), said


@pytest.mark.parametrize("name", ["metrics_writer", "markers", "rviz2"])
def test_the_run_goes_on_without_what_only_shows_it(name):
    ending, said = session(death(name))
    assert ending.succeeded
    assert said[0].startswith(f"{name} died (exit code 1), not restarted")
    assert said[-1] == f"the run goes on without {name}"


@pytest.mark.parametrize("name", ["sim", "expert", "learner", "actor"])
def test_a_vital_node_that_stays_dead_ends_the_run(name):
    ending, said = session(death("metrics_writer"), death(name))
    assert (ending.how, ending.reason) == ("died", str(death(name)))
    assert f"  {name} | last words" in said


def test_a_death_that_is_followed_by_a_restart_ends_nothing():
    ending, said = session(death("learner", restart_in=1.0))
    assert ending.succeeded
    assert "the run goes on without learner" not in said
