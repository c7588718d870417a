"""Films hold every picture of an episode, and what befalls them does not reach the simulation."""

from __future__ import annotations

import av
import numpy as np
import pytest

from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.testing import file_limit
from serl_sim.config import FilmConfig, SceneError
from serl_sim.film import Film

FPS = 20
STEPS = 6
END = 4  # pictures that stand at the end
FRAMES = 1 + STEPS * 2 + END  # two in a control period of 0.1 s
SIDEWAYS = Pose.from_rotation_vector((0.01, 0.0, 0.0), np.zeros(3))


class Studio:
    """Films episodes of one simulation into one folder."""

    def __init__(self, simulation, folder):
        self.simulation, self.folder, self.said = simulation, folder, []
        config = FilmConfig(str(folder), fps=FPS, width=320, height=240, end_s=END / FPS)
        self.film = Film(simulation, config, self.said.append)
        simulation.watch(self.film)

    def play(self, steps=STEPS, outcome=""):
        state = self.simulation.reset(0, randomise=False)
        for _ in range(steps):
            state = self.simulation.step(ArmTarget(state.tcp_pose @ SIDEWAYS))
        if outcome:
            self.film.outcome(outcome, state.stamp_ns)
        return state

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


def frames(path):
    with av.open(str(path)) as file:
        assert file.streams.video[0].codec_context.name == "h264"
        assert file.streams.video[0].average_rate == FPS
        return [frame.to_ndarray(format="rgb24").astype(int) for frame in file.decode(video=0)]


def differ(a, b):
    """Share of the pixels below the words that differ clearly."""
    return np.mean(np.abs(a[50:] - b[50:]) > 30)


@pytest.fixture
def studio(draws, simulation, tmp_path):
    """None where nothing draws; the error for that has been looked at."""
    studio = Studio(simulation, tmp_path / "films") if draws else None
    yield studio
    simulation.watch(None)
    if studio is not None:
        studio.film.close()


def test_a_film_holds_every_picture_and_the_arm_moves_in_it(studio):
    if studio is None:
        return
    studio.film.caption("sampled policy", "2 of 3 solved")
    studio.play(outcome="success")
    studio.film.end()
    assert studio.names() == ["001_sampled_policy_success.mp4"]
    pictures = frames(studio.folder / studio.names()[0])
    assert len(pictures) == FRAMES
    assert all(picture.shape == (240, 320, 3) and picture.std() > 20 for picture in pictures)
    assert differ(pictures[0], pictures[-END - 1]) > 0.01
    assert differ(pictures[-END - 1], pictures[-1]) > 0.005  # the outcome is written there
    assert differ(pictures[-END], pictures[-1]) < 0.001


def test_an_episode_ends_where_the_next_begins_and_keeps_its_own_words(studio):
    if studio is None:
        return
    studio.film.caption("deterministic policy")
    studio.play(outcome="not solved")
    studio.film.caption("sampled policy")
    studio.play()
    studio.film.end()
    assert studio.names() == ["001_deterministic_policy_not_solved.mp4", "002_sampled_policy.mp4"]
    first = frames(studio.folder / studio.names()[0])
    assert len(first) == FRAMES
    assert differ(first[-1], first[0]) > 0.01  # it does not end on the start of the next


def test_an_outcome_may_come_one_episode_late_but_is_never_another_ones(studio):
    if studio is None:
        return
    stamps = [studio.play().stamp_ns for _ in range(3)]
    for stamp, text in zip(stamps, ("too late", "late", "in time"), strict=True):
        studio.film.outcome(text, stamp)
    studio.film.end()
    assert studio.names() == ["001_episode.mp4", "002_late.mp4", "003_in_time.mp4"]
    assert len(frames(studio.folder / "002_late.mp4")) == FRAMES


def test_an_episode_in_which_nothing_happens_leaves_no_film(studio):
    if studio is None:
        return
    studio.play(steps=0)
    studio.play()
    studio.play(steps=0)
    studio.film.end()
    assert studio.names() == ["002_episode.mp4"]
    assert studio.film.finished == 1


def test_a_filmed_simulation_is_the_same_bit_for_bit(studio, simulation):
    simulation.watch(None)
    if studio is None:
        return
    expected = studio.play()
    simulation.watch(studio.film)
    filmed = studio.play()
    for name in ("q", "dq", "tau_ext", "wrench"):
        np.testing.assert_array_equal(getattr(filmed, name), getattr(expected, name))


def test_numbers_go_on_and_half_films_of_a_killed_process_go(studio):
    if studio is None:
        return
    (studio.folder / "007_sampled_policy_success.mp4").write_bytes(b"a film")
    (studio.folder / "008.part").write_bytes(b"half a film")
    (studio.folder / "notes.mp4").write_bytes(b"somebody's")
    again = Studio(studio.simulation, studio.folder)
    again.play()
    again.film.close()
    assert again.names() == ["007_sampled_policy_success.mp4", "008_episode.mp4", "notes.mp4"]


@pytest.mark.parametrize("limit", [0, 2000])
def test_a_full_disk_costs_the_film_and_one_warning(studio, limit):
    if studio is None:
        return
    with file_limit(limit):
        studio.play()
        studio.film.end()
    assert len(studio.said) == 1
    assert studio.said[0].startswith("no film of episode 1: ")
    assert studio.names() == []
    studio.play()
    studio.film.end()
    assert studio.names() == ["002_episode.mp4"]


def test_bad_figures_are_refused(simulation, tmp_path):
    with pytest.raises(SceneError, match="fps is 30: one picture in 33.3333 physics ticks"):
        Film(simulation, FilmConfig(str(tmp_path), fps=30), print)
    with pytest.raises(SceneError, match="width is 321, expected an even number"):
        FilmConfig(width=321)
    with pytest.raises(SceneError, match="fps is 0"):
        FilmConfig(fps=0)
