"""The page in a real browser: it is whole, its numbers are the verdict's, its script runs, and nothing hostile does."""

import json
from pathlib import Path

from gpufabric.report import page, read_verdicts
from tests.report.browser import opened, with_browser
from tests.report.dom import parse
from tests.report.verdicts import FAIL, PASS, changed

pytestmark = with_browser


def test_a_browser_shows_the_numbers_of_the_verdicts_and_runs_nothing_else(tmp_path: Path) -> None:
    attack = "<script>document.documentElement.dataset.attacked='yes'</script><img src=x onerror=document.title='attacked'>"
    verdicts = [PASS, changed(FAIL, reason=attack, nodes=[attack, "n1"], stack=attack)]
    file = tmp_path / "report.html"
    file.write_text(page(read_verdicts(json.dumps(verdicts))), encoding="utf-8")
    found = opened(file, tmp_path / "profile")
    root = found.one("html").attributes
    assert root["data-ready"] == "yes", "the page's script did not run: is the policy's hash the script's?"
    assert "data-attacked" not in root
    assert not found.all("img")
    assert found.one("head").one("title").text == "Verdicts: train, slow"
    assert int(root["data-numbers"]) == len(found.all("data")) == len(parse(file.read_text("utf-8")).all("data"))
    for section, verdict in zip(found.all("section"), verdicts, strict=True):
        assert section.attributes["data-outcome"] == verdict["outcome"]
        measured = section.one("data", data_of="busbw_gbytes_per_s")
        assert float(measured.attributes["value"]) == verdict["busbw_gbytes_per_s"]
        assert measured.text == f"{verdict['busbw_gbytes_per_s']:.4g} GB/s"
        rows = [[each.numbers() for each in row] for row in section.cells("sizes")]
        assert [(row[0], row[1]) for row in rows] == [([each[0]], [each[3]]) for each in verdict["table"]]
        pairs = [each["busbw_gbytes_per_s"] for each in verdict.get("pairs", [])]
        assert [row[4].numbers() for row in section.cells("pairs")] == [[] if each is None else [each] for each in pairs]
        points = section.one("svg", class_="curve").all("circle")
        assert [float(each.attributes["data-busbw"]) for each in points] == [row[3] for row in verdict["table"]]
