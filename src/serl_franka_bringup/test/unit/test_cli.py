from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from serl_actor.job_memory import BEST
from serl_franka_bringup import checks, cli, job_command
from serl_franka_bringup.results_table import Row
from serl_franka_bringup.verbs import bench, results
from serl_learner.learner_session import BEST_POLICY
from serl_learner.params_codec import encode, write_params
from serl_sim.gl_backend import GLError

PCB = str(Path(__file__).resolve().parents[2] / "config" / "pcb.yaml")


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_documents_itself_with_an_example(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([verb, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert f"./serl {verb}" in text
    assert "--json FILE" in text


def test_options_and_assignments_mix_in_any_order():
    arguments = cli.parse(["run", "learner.utd_ratio:=4", "--seed", "2", PCB, "reward:=sparse"])
    assert arguments.task == PCB
    assert arguments.assignments == ["learner.utd_ratio:=4", "reward:=sparse"]
    plan = job_command.plan_job(arguments)
    by_name = {node.name: node.parameters for node in plan.nodes}
    assert by_name["learner"]["utd_ratio"] == 4
    assert by_name["learner"]["seed"] == by_name["actor"]["seed"] == 2


@pytest.mark.parametrize(
    "words",
    [
        ["run", "pcb", "--sed", "1"],
        ["doctor", "a:=1"],
        ["run", "pcb", "learner.x=1"],
        ["results", "kill-matrix", "a:=1"],
    ],
)
def test_what_a_verb_does_not_know_is_an_error(words, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.parse(words)
    assert ended.value.code == 2
    assert "unrecognized arguments" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", PCB, "--seed", "1", "seed:=2"], "argument 'seed' is given twice"),
        (["run", PCB, "sed:=2"], "unknown argument 'sed'"),
        (["run", PCB, "--until", "95"], "until 95.0 is above 1"),
        (["eval", PCB, "--runs", "/nowhere"], "train first with ./serl run"),
        (["run", "/nowhere/a.yaml"], "/nowhere/a.yaml: No such file"),
    ],
)
def test_known_errors_are_one_line_and_exit_code_2(words, message, capsys):
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_eval_finds_the_run_that_the_same_arguments_trained():
    words = [PCB, "--seed", "3", "learner.batch_size:=64"]
    trained = job_command.plan_job(cli.parse(["run", *words, "--minutes", "1"]))
    evaluated = job_command.plan_job(cli.parse(["eval", *words]), job="evaluate")
    assert evaluated.directory == trained.directory
    learner = {n.name: n.parameters for n in evaluated.nodes}["learner"]
    assert learner["serve_checkpoint"] == str(trained.directory / "checkpoints")
    assert "log_dir" not in learner


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    """Evaluates what looks like a trained run; returns the plans that were run."""
    plans = []

    def run_job(plan, command, json_file, summarise):
        plans.append(plan)
        return 0

    monkeypatch.setattr(job_command, "run_job", run_job)
    plan = job_command.plan_job(cli.parse(["eval", PCB, "--runs", str(tmp_path)]), job="evaluate")
    write_policy(plan.directory / "checkpoints" / BEST_POLICY, version=7)
    return plans


def write_policy(path: Path, version: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_params(path, encode({"w": np.zeros(2, np.float32)}, version, 10 * version, "layout"))


def served(plan) -> str:
    return {node.name: node.parameters for node in plan.nodes}["learner"]["serve_checkpoint"]


def test_the_policy_that_the_run_itself_evaluated_is_evaluated(evaluated, tmp_path, capsys):
    words = ["eval", PCB, "--runs", str(tmp_path)]
    assert cli.main(words) == 0
    directory = evaluated[0].directory
    learners, actors = directory / "checkpoints" / BEST_POLICY, directory / BEST
    assert served(evaluated[-1]) == str(learners)
    assert f"version 7, the best that the learner kept: {learners}" in capsys.readouterr().out

    write_policy(actors, version=5)
    assert cli.main(words) == 0
    assert served(evaluated[-1]) == str(actors)
    assert f"version 5, the best that the actor kept: {actors}" in capsys.readouterr().out

    actors.write_bytes(actors.read_bytes()[:-1])
    assert cli.main(words) == 0
    assert served(evaluated[-1]) == str(learners)
    said = capsys.readouterr().out
    assert f"{actors} is not used: " in said
    assert "version 7" in said

    learners.unlink()
    assert cli.main(words) == 2
    assert "has no policy to evaluate: train first with ./serl run" in capsys.readouterr().err


def test_a_policy_that_the_user_names_is_evaluated(evaluated, tmp_path):
    words = ["eval", PCB, "--runs", str(tmp_path), "learner.serve_checkpoint:=/my/policy.msgpack"]
    assert cli.main(words) == 0
    assert served(evaluated[-1]) == "/my/policy.msgpack"


def test_films_go_into_the_run_that_is_evaluated(evaluated, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("serl_sim.gl_backend.use_backend", lambda: "osmesa")
    words = ["eval", PCB, "--runs", str(tmp_path)]
    assert cli.main([*words, "--video"]) == 0
    assert cli.main(words) == 0
    filmed, plain = evaluated
    assert filmed.directory == plain.directory
    sim = {node.name: node.parameters for node in filmed.nodes}["sim"]
    assert Path(sim["video.directory"]).parent == filmed.directory.absolute() / "videos"
    assert capsys.readouterr().out.count("osmesa draws the films\n") == 1
    assert "video.directory" not in {n.name: n.parameters for n in plain.nodes}["sim"]


def test_films_that_nothing_can_draw_are_refused_before_anything_starts(
    evaluated, tmp_path, monkeypatch, capsys
):
    def fail(*_: object) -> str:
        raise GLError("no OpenGL draws: apt-get install libegl1")

    monkeypatch.setattr("serl_sim.gl_backend.use_backend", fail)
    monkeypatch.setattr("serl_sim.gl_backend.find_backend", fail)
    assert cli.main(["eval", PCB, "--runs", str(tmp_path), "--video"]) == 2
    assert capsys.readouterr().err == "serl eval: no OpenGL draws: apt-get install libegl1\n"
    assert evaluated == []
    (finding,) = checks.check_gl()
    assert finding.level == checks.WARN
    assert "apt-get install libegl1" in finding.found


def test_the_result_is_told_with_its_interval():
    result = {
        "policy": "sampled",
        "evaluation_episodes": 50,
        "success_sampled": 0.98,
        "interval_sampled": [0.895, 0.9965],
        "mean_time_s_sampled": 2.83,
        "success_deterministic": 0.0,
        "interval_deterministic": [0.0, 0.0713],
        "mean_time_s_deterministic": None,
    }
    chosen, other = job_command.describe_success(result)
    assert "sampled policy: 49 of 50 = 98% (95 % interval 90%-100%), mean time 2.8 s" in chosen
    assert chosen.endswith("<- chosen")
    assert other.endswith("deterministic policy: 0 of 50 = 0% (95 % interval 0%-7%)")


def test_a_failed_check_fails_the_doctor_and_hides_no_other():
    def broken() -> list[checks.Finding]:
        raise OSError("no such device")

    findings = checks.run_checks([broken, checks.check_processor])
    assert findings[0] == checks.Finding("broken", checks.FAIL, "OSError: no such device")
    assert findings[1].subject == "processor"


def test_benchmark_rows_are_printed_aligned_and_without_a_reference():
    row = {"name": "a", "value": 1234.5, "unit": "1/s", "reference": None, "ratio": None}
    assert bench._line(row).split() == ["a", "1234", "1/s", "-", "-"]


def test_a_row_is_measured_and_kept_with_its_command(tmp_path, monkeypatch):
    program = "import sys, json; json.dump({'success': 0.5}, open(sys.argv[4], 'w'))"
    row = Row("a test", ("-c", program))
    monkeypatch.setattr(results, "ROWS", {"tiny": row})
    assert cli.main(["results", "tiny", "--seed", "4", "--out", str(tmp_path)]) == 0
    kept = json.loads((tmp_path / "tiny-seed4.json").read_text())
    assert kept["figures"] == {"success": 0.5}
    assert kept["seed"] == 4
    assert "--seed 4" in kept["command"]


def test_options_of_a_row_are_passed_on(tmp_path, monkeypatch):
    program = "import sys, json; json.dump({'words': sys.argv[1:]}, open(sys.argv[-1], 'w'))"
    row = Row("a test", ("-c", program, "{out}/a.png"), seeded=False, options=True)
    monkeypatch.setattr(results, "ROWS", {"tiny": row})
    assert cli.main(["results", "tiny", "--kills", "2", "--out", str(tmp_path)]) == 0
    kept = json.loads((tmp_path / "tiny.json").read_text())
    assert kept["figures"]["words"][:3] == [f"{tmp_path}/a.png", "--kills", "2"]
    assert kept["command"].endswith("'{out}/a.png' --kills 2")  # and not where that was here


def test_a_row_without_options_refuses_them(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "ROWS", {"tiny": Row("a test", ("-c", "0"))})
    with pytest.raises(SystemExit) as ended:
        cli.main(["results", "tiny", "--kills", "2"])
    assert ended.value.code == 2
    assert "unrecognized arguments: --kills 2" in capsys.readouterr().err
