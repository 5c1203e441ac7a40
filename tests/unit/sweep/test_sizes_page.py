"""Do other points give other sentences on the page of the engine's sizes?"""

from dataclasses import replace

import pytest

from docs._site import sizes_page
from docs._site.sizes_page import BUFFER, CYCLES, LOST, SHARE, SIB
from gpusim.results.report.sweeps.points import SweepData, SweepPoint


def test_other_points_give_other_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine in which a larger SIB always gains, loses nothing, and a larger share of L2 gains."""
    of = sizes_page.sweep

    def other(name: str) -> SweepData:
        found = of(name)
        places = []
        for one in found.places:
            cycles = 1e6 / one.values[SIB] - 1e3 * one.values.get(SHARE, 0.5) + one.values[BUFFER]
            places.append(SweepPoint(one.number, one.values, {CYCLES: (cycles, 0.0), LOST: (0.0, 0.0)}))
        return replace(found, places=[one for one in places if name != "search" or one.values[SIB] < 512])

    monkeypatch.setattr(sizes_page, "sweep", other)
    said = sizes_page.conclusions("sgemm_dib_tiled")
    assert "the SIB matters up to the largest that was run, 512 KiB: no size loses an entry" in said
    assert "on layerA, layerB and layerC a larger share of L2 does not always cost" in said
    assert "where entries are lost" not in said
    assert "more than the grid's" in sizes_page.agreement()
