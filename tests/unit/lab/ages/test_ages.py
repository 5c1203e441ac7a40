"""Are exactly the old figures listed, made anew within a budget, checked, and carried forward by a proof?"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.lab.ages.check import (
    EQUAL,
    EqualityProof,
    check_figures,
    describe_undrawn,
    draw_figures,
    find_difference,
    prove_equal,
    stamp_equal,
)
from gpusim.lab.ages.recording import RecordedFigure, Recording, RenewalOptions
from gpusim.lab.ages.renewal import BATCH_S, renew_figures
from gpusim.lab.ages.stale import AgedFigure, age_figures, table_of_figures, table_of_recordings
from gpusim.lab.versions.model import ANY_RUN, PARTS, RUN, SOURCES, FigureVersion

OLDER = dict.fromkeys(PARTS, "1")
NOW = {**OLDER, "core": "2"}


class MadeUpRecording(Recording):
    """Figures in a JSON file, whose digits the present model would make as `makes` has them."""

    command = "make"
    kind = ""

    def __init__(self, name: str, folder: Path, makes: Mapping[str, Any], stop_after: int = 99) -> None:
        super().__init__(name, folder)
        self.makes, self.calls, self._stop_after = makes, list[list[str]](), stop_after

    @property
    def files(self) -> Sequence[Path]:
        return [self.folder / f"{self.name}.json"]

    def write(self, rows: Mapping[str, tuple[FigureVersion, Any, float | None]]) -> None:
        data = {key: [one.model, one.uses, digits, seconds] for key, (one, digits, seconds) in rows.items()}
        self.files[0].write_text(json.dumps(data), encoding="utf-8")

    def figures(self) -> Mapping[str, RecordedFigure]:
        data = json.loads(self.files[0].read_text(encoding="utf-8"))
        return {
            key: RecordedFigure(
                key=key, version=FigureVersion(model, tuple(uses)), digits=digits, seconds=seconds, kind=self.kind
            )
            for key, (model, uses, digits, seconds) in data.items()
        }

    def stamp(self, versions: Mapping[str, FigureVersion]) -> None:
        rows = {key: (one.version, one.digits, one.seconds) for key, one in self.figures().items()}
        self.write({key: (versions.get(key, version), *others) for key, (version, *others) in rows.items()})

    def renew(self, keys: Sequence[str], options: RenewalOptions) -> None:
        self.calls.append(list(keys))
        rows = {key: (figure.version, figure.digits, figure.seconds) for key, figure in self.figures().items()}
        done = list(keys)[: self._stop_after]
        rows |= {key: (FigureVersion(NOW, rows[key][0].uses), self.makes[key], rows[key][2]) for key in done}
        self.write(rows)
        if len(done) < len(keys):
            self._stop_after = 99
            raise KeyboardInterrupt


def options(folder: Path) -> RenewalOptions:
    return RenewalOptions(store=folder / "s.db", jobs=1, reporter=Reporter(quiet=True))


def figure(model: Mapping[str, str], digits: Any, seconds: float | None, uses: Sequence[str] = RUN) -> tuple[Any, ...]:
    return FigureVersion(model, tuple(uses)), digits, seconds


@pytest.fixture
def recording(tmp_path: Path) -> MadeUpRecording:
    """Five points, of which one is of the present model and one does not differ from what that makes."""
    made = MadeUpRecording("points", tmp_path, {"a": 10, "b": 20, "c": 30, "d": 40, "e": 50})
    made.write({
        "a": figure(OLDER, 11, 50.0), "b": figure(NOW, 20, 1.0), "c": figure(OLDER, 30, 20.0),
        "d": figure({SOURCES: "59d5"}, 41, 5.0, ()), "e": figure(OLDER, 51, None),
    })  # fmt: skip
    return made


def aged(*recordings: Recording, now: Mapping[str, str] = NOW) -> Mapping[str, Sequence[AgedFigure]]:
    return age_figures(recordings, now, ())


def old_keys(recording: Recording) -> list[str]:
    return [one.figure.key for one in aged(recording)[recording.name] if not one.age.is_current]


def test_old_figures_are_listed_the_cheapest_first(recording: MadeUpRecording) -> None:
    table = table_of_figures(aged(recording))
    assert [(row[1], row[2], row[4]) for row in table.rows] == [
        ("d", "0.1", "not known"), ("c", "0.3", "core"), ("a", "0.8", "core"), ("e", "not known", "core"),
    ]  # fmt: skip


def test_recordings_are_listed_with_what_their_old_figures_cost(recording: MadeUpRecording, tmp_path: Path) -> None:
    other = MadeUpRecording("other", tmp_path, {})
    other.write({"x": figure(OLDER, 1, 30.0), "y": figure(NOW, 1, 900.0)})
    current = MadeUpRecording("current", tmp_path, {})
    current.write({"z": figure(NOW, 1, 1.0)})
    table = table_of_recordings(aged(recording, current, other))
    assert [row[:3] for row in table.rows] == [["other", 1, 2], ["points", 4, 5]]
    assert [row[3] for row in table.rows] == ["0.5", "1.2+"]
    assert table.notes[0] == "5 of 8 recorded figures are old"


def test_a_budget_is_spent_in_reading_order(recording: MadeUpRecording, tmp_path: Path) -> None:
    outcome = renew_figures(aged(recording), 30.0, options(tmp_path))
    assert recording.calls == [["c", "d"]], "a takes more than there is, of e it is not known"
    assert (outcome.renewed, outcome.too_dear, outcome.unknown) == (2, 1, 1)
    assert old_keys(recording) == ["a", "e"]


def test_batches_are_recorded_one_after_another(recording: MadeUpRecording, tmp_path: Path) -> None:
    renew_figures(aged(recording), 1000.0, options(tmp_path), named=True)
    assert recording.calls == [["a"], ["c", "d", "e"]] and BATCH_S == 60
    assert old_keys(recording) == []


def test_a_stopped_renewal_goes_on(recording: MadeUpRecording, tmp_path: Path) -> None:
    recording._stop_after = 1
    outcome = renew_figures(aged(recording), 30.0, options(tmp_path))
    assert outcome.interrupted and old_keys(recording) == ["a", "d", "e"], "what had ended is recorded"
    assert not renew_figures(aged(recording), 30.0, options(tmp_path)).interrupted
    assert recording.calls == [["c", "d"], ["d"]]


def test_what_cannot_be_made_here_is_named_and_not_drawn(
    recording: MadeUpRecording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MadeUpRecording, "obstacle", "needs a library")
    outcome = renew_figures(aged(recording), 1000.0, options(tmp_path))
    assert outcome.problems == ["points: 4 figures: needs a library"] and recording.calls == []
    with pytest.raises(UserError, match="no recorded figure takes"):
        draw_figures(aged(recording), 2, 1, 30.0)


def test_a_check_finds_what_differs_and_leaves_the_recording_as_it_is(
    recording: MadeUpRecording, tmp_path: Path
) -> None:
    before = recording.files[0].read_bytes()
    checked = check_figures(aged(recording)["points"], options(tmp_path))
    assert {one.aged.figure.key: (one.difference, one.verdict) for one in checked} == {
        "a": (": 11 → 10", "right"),
        "b": (EQUAL, "right"),
        "c": (EQUAL, "older than need be"),
        "d": (": 41 → 40", "right"),
        "e": (": 51 → 50", "right"),
    }
    assert recording.files[0].read_bytes() == before
    recording.makes = {**recording.makes, "b": 21}
    assert [one.verdict for one in check_figures(aged(recording)["points"], options(tmp_path))][1] == "WRONG"


def test_after_a_check_what_is_listed_of_its_draw_is_what_differs(recording: MadeUpRecording, tmp_path: Path) -> None:
    digits = {key: one.digits for key, one in recording.figures().items()}
    checked = check_figures(aged(recording)["points"], options(tmp_path))
    assert stamp_equal(checked) == 1
    assert old_keys(recording) == [one.aged.figure.key for one in checked if one.difference != EQUAL]
    assert {key: one.digits for key, one in recording.figures().items()} == digits, "no digit is renewed"


def test_a_draw_follows_from_its_seed(recording: MadeUpRecording) -> None:
    draws = [draw_figures(aged(recording), 2, seed, 30.0)["points"] for seed in (1, 1, 2, 3, 4)]
    keys = [[one.figure.key for one in drawn] for drawn in draws]
    assert keys[0] == keys[1] and all(set(one) < {"b", "c", "d"} and len(one) == 2 for one in keys)
    assert len({tuple(one) for one in keys}) > 1
    with pytest.raises(UserError, match=r"no recorded figure takes at most 0\.1 CPU seconds"):
        draw_figures(aged(recording), 2, 1, 0.1)


def test_a_draw_takes_from_each_recording_in_turn(recording: MadeUpRecording, tmp_path: Path) -> None:
    many = MadeUpRecording("many", tmp_path, {})
    many.write({f"m{number}": figure(OLDER, 1, 1.0) for number in range(100)})
    drawn = draw_figures(aged(many, recording), 8, 1, 30.0)
    assert {name: len(some) for name, some in drawn.items()} == {"many": 5, "points": 3}, "points has no more"
    assert describe_undrawn(aged(many, recording), 30.0) == ["2 of points: more than 30 CPU seconds each, or not known"]


@pytest.mark.parametrize(
    ("recorded", "made", "difference"),
    [
        ({"m": {"x": 1, "y": [1, 2]}}, {"m": {"x": 1, "y": [1, 2], "new": 3}}, EQUAL),
        ({"m": {"x": 1, "y": [1, 2]}}, {"m": {"x": 1, "y": [1, 3]}}, "m.y[1]: 2 → 3"),
        ({"m": 1, "gone": 2}, {"m": 1}, EQUAL),
        ([1], [1, 2], ": [1] → [1, 2]"),
        ({"m": 1.0}, {"m": 1.0000001}, "m: 1.0 → 1.0000001"),
    ],
)
def test_figures_are_compared_by_digits(recorded: Any, made: Any, difference: str) -> None:
    assert find_difference(recorded, made) == difference


def proved(recording: Recording, folder: Path, now: Mapping[str, str] = NOW) -> EqualityProof:
    return prove_equal(aged(recording, now=now)[recording.name], now, (), "renamed", 1, options(folder))


def test_a_proof_carries_points_forward(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(50)]
    recording = MadeUpRecording("points", tmp_path, dict.fromkeys(names, 1))
    uses = {name: ANY_RUN if name == "p7" else RUN for name in names}
    recording.write({name: figure(OLDER, 1, 1.0, uses[name]) for name in names})
    (row,) = proved(recording, tmp_path).rows
    assert (row.older, row.newer, row.drawn, row.points) == ({"core": "1"}, {"core": "2"}, 6, 50)
    ages = recording.ages(NOW, [row])
    assert all(age.is_current for age in ages.values())


def test_a_proof_is_for_the_figures_of_a_kind(tmp_path: Path) -> None:
    recording = MadeUpRecording("points", tmp_path, {"p": 1, "q": 1})
    recording.kind = "sgemm"
    recording.write({key: figure(OLDER, 1, 1.0) for key in ("p", "q")})
    (row,) = proved(recording, tmp_path).rows
    assert (row.kind, row.drawn) == ("sgemm", 2), "three of a kind, or all"
    recording.kind = "transpose"
    assert not any(age.is_current for age in recording.ages(NOW, [row]).values())


def test_a_point_that_moves_refutes_a_proof(tmp_path: Path) -> None:
    recording = MadeUpRecording("points", tmp_path, {"p": 2})
    recording.write({"p": figure(OLDER, 1, 1.0)})
    assert proved(recording, tmp_path) == ([], ["all: 1 points: p differs: : 1 → 2"])


def test_points_from_before_there_were_versions_get_one_by_a_proof(tmp_path: Path) -> None:
    recording = MadeUpRecording("points", tmp_path, {"p": 1})
    recording.write({"p": figure({SOURCES: "59d5"}, 1, 1.0, ())})
    (row,) = proved(recording, tmp_path).rows
    assert (row.older, row.newer) == ({SOURCES: "59d5"}, NOW)
    assert recording.ages(NOW, [row])["p"].is_current
    recording.write({"p": figure({}, 1, 1.0, ())})
    (problem,) = proved(recording, tmp_path).problems
    assert "1 points without any hash cannot be carried forward" in problem
