"""A page of 2,000 resources in a real browser: whole, its script and style run, and nothing hostile does."""

from pathlib import Path

from gpufabric.review import page, read_review
from tests.report.browser import opened, with_browser
from tests.review.events import BUCKET, GROUP, facts, group, said, step

pytestmark = with_browser
RESOURCES = 2000
GROUPS = 20


def test_a_browser_shows_a_large_plan_whole(tmp_path: Path) -> None:
    attack = "<script>document.documentElement.dataset.attacked='yes'</script><img src=x onerror=document.title='attacked'>"
    events = [step("create", BUCKET, f"b{number}") for number in range(RESOURCES - GROUPS)]
    events += [step("replace", GROUP, f"g{number}", keys=["subnetIds"]) for number in range(GROUPS)]
    events += [said("encrypted", f"{attack} {number}", name=f"b{number}") for number in range(300)]
    before = facts(*(group(f"g{number}", 2) for number in range(GROUPS)))
    after = facts(*(group(f"g{number}", 3) for number in range(GROUPS)))
    file = tmp_path / "review.html"
    file.write_text(page(read_review("dev", events, before, after)), encoding="utf-8")
    found = opened(file, tmp_path / "profile")
    root = found.one("html").attributes
    assert root["data-ready"] == "yes", "the page's script did not run: is the policy's hash the script's?"
    assert "data-attacked" not in root
    assert found.one("head").one("title").text == "Review of dev"
    assert not found.all("img")
    assert len(found.cells("changes-created")) == RESOURCES - GROUPS
    assert {row[2].text for row in found.cells("lost")} == {row[0].text for row in found.cells("drains")}
    assert len(found.cells("lost")) == len(found.cells("groups")) == GROUPS
    assert [row[0].text for row in found.cells("rules")] == ["mandatory"] * 300
    assert found.one("section", class_="summary").attributes["data-gpus"] == str(GROUPS * 3 * 8)
    assert int(root["data-numbers"]) == len(found.all("data")) == GROUPS + 1
