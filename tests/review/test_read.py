"""From events to a report, and what each form of it says."""

import json
from typing import Any

import pytest

from gpufabric.review import Review, as_json, markdown, page, read_review
from tests.report.dom import parse
from tests.review.events import BUCKET, GROUP, LUSTRE, diagnostic, facts, group, said, step, urn

ATTACK = "<img src=x onerror=alert(1)> | `code` [link](https://x) @all\n# heading"


def test_each_resource_counts_once_by_what_it_loses_most() -> None:
    events = [
        step("create-replacement", GROUP, "a", keys=["subnetIds"], diffs=["subnetIds", "tags"]),
        step("replace", GROUP, "a", keys=["subnetIds"], diffs=["subnetIds", "tags"]),
        step("delete-replaced", GROUP, "a"),
        step("create", BUCKET, "b"),
        step("update", LUSTRE, "c", diffs=["tags"]),
        step("delete", LUSTRE, "d"),
        step("same", BUCKET, "e"),
        step("create", "pulumi:pulumi:Stack", "train-dev"),
        step("read", BUCKET, "f"),
    ]
    found = read_review("dev", events, facts(group("a", 2)), facts(group("a", 2)))
    assert [(each.op, each.name, each.because, each.precious) for each in found.changes] == [
        ("replaced", "a", ("subnetIds",), "GPU nodes"),
        ("deleted", "d", (), "file system"),
        ("updated", "c", ("tags",), "file system"),
        ("created", "b", (), "bucket"),
    ]
    assert found.unchanged == 1
    assert [each.name for each in found.lost] == ["a", "d"]


@pytest.mark.parametrize(
    ("events", "before", "after", "drains"),
    [
        ([step("update", GROUP, "a", diffs=["launchTemplate"])], 2, 2, [("a", 2, "new nodes: launchTemplate")]),
        ([step("update", GROUP, "a", diffs=["scalingConfig"])], 3, 1, [("a", 2, "the group shrinks")]),
        ([step("update", GROUP, "a", diffs=["scalingConfig"])], 1, 3, []),
        ([step("update", GROUP, "a", diffs=["tags"])], 2, 2, []),
        ([step("replace", GROUP, "a", keys=["amiType"])], 2, 2, [("a", 2, "the group is replaced (amiType)")]),
        ([step("delete", GROUP, "a")], 2, None, [("a", 2, "the group is deleted")]),
        ([step("create", GROUP, "a")], None, 2, []),
        ([step("update", GROUP, "a", diffs=["launchTemplate"])], 0, 0, []),
    ],
)
def test_nodes_that_are_drained(events: list[Any], before: int | None, after: int | None, drains: list[Any]) -> None:
    sides = [facts() if nodes is None else facts(group("a", nodes)) for nodes in (before, after)]
    found = read_review("dev", events, sides[0], sides[1])
    assert [(each.group, each.nodes, each.why) for each in found.drains] == drains


def test_gpus_and_cost_are_differences_and_what_has_no_price_is_said() -> None:
    before, after = facts(group("a", 2)), facts(group("a", 4, usd=220.16), group("b", 1, usd=None))
    found = read_review("dev", [], before, after)
    text = markdown(found)
    assert "| GPUs, at their largest | 40 (+24) |" in text
    assert "| GPU machines | 220.16 USD/h (+110.08); no price is known for b |" in text
    sums = json.loads(as_json(found))
    assert (sums["gpus"], sums["usd_per_hour"]) == (
        {"before": 16, "after": 40},
        {"before": 110.08, "after": 220.16, "no_price": ["b"]},
    )


def test_what_the_pack_did_not_see_is_not_a_zero() -> None:
    found = read_review("dev", [diagnostic("error", "boom\nat line 3")], facts(group("a", 2)), None)
    assert found.failed == "boom"
    text = markdown(found)
    assert "**`The preview failed: boom`**" in text
    assert "| GPUs, at their largest | not known: the pack did not see the whole stack |" in text
    assert json.loads(as_json(found))["gpus"] is None


def test_rules_the_worst_first_alike_ones_together_and_notes_apart() -> None:
    events = [
        said("ttl-and-owner", "no tag owner\nTo fix: Tag it. (docs)", level="advisory"),
        said("encrypted", "x", name="a"),
        said("encrypted", "x", name="b"),
        said("nic-layout", "wrong"),
        said("other", "theirs", pack="acme"),
        said("nic-layout", "not checked: 1 resource: a (b)", level="advisory"),
        said("theirs", "can't run policy 'theirs' from policy pack 'acme@v1' during preview: x", level="advisory", pack="acme"),
        diagnostic("error", "preview failed"),
    ]
    found = read_review("dev", events, facts(), facts())
    assert [(each.rule, each.severity, each.text) for each in found.violations] == [
        ("nic-layout", "critical", "wrong"),
        ("encrypted", "high", "x"),
        ("encrypted", "high", "x"),
        ("other", "", "theirs"),
        ("ttl-and-owner", "medium", "no tag owner"),
    ]
    assert [each.rule for each in found.not_checked] == ["nic-layout", "theirs"]
    assert not found.failed
    text = markdown(found)
    assert "**3 mandatory rules are broken, 4 times**" in text
    assert "| **mandatory** | high | `encrypted` | `a`, `b` | `x` |" in text
    assert "| rules not checked | 2, see below |" in text


def test_a_comment_stays_below_the_limit_of_a_forge() -> None:
    events = [step("create", GROUP, f"g{number}") for number in range(2000)]
    events += [said("encrypted", f"{number} {'x' * 200}", name=f"n{number}") for number in range(2000)]
    many = facts(*(group(f"g{number}", 2) for number in range(500)))
    text = markdown(read_review("dev", events, facts(), many))
    assert len(text) < 65_000
    assert "*and 1960 more*" in text
    assert text.startswith("<!-- gpufabric-review: dev -->\n")


def hostile() -> Review:
    events = [step("replace", BUCKET, ATTACK, keys=[ATTACK]), said(ATTACK, ATTACK, name=ATTACK), diagnostic("warning", ATTACK)]
    return read_review(ATTACK, events, facts(), facts(group(ATTACK, 1), **{ATTACK: ATTACK}))


def test_nothing_that_a_name_says_becomes_markup() -> None:
    text = markdown(hostile())
    assert text.splitlines()[0].count("-->") == 1
    outside = []
    for line in text.splitlines()[1:]:
        assert not line.startswith("# heading")
        # What stands outside of code: the spans between runs of backticks of the same length.
        rest, plain = line, ""
        while "`" in rest:
            head, _, rest = rest.partition("`")
            ticks = 1 + len(rest) - len(rest.lstrip("`"))
            rest = rest.lstrip("`")
            plain += head
            close = next(
                place
                for place in range(len(rest))
                if rest.startswith("`" * ticks, place)
                and not rest.startswith("`" * (ticks + 1), place)
                and (place == 0 or rest[place - 1] != "`")
            )
            rest = rest[close + ticks :]
        outside.append(plain + rest)
    assert not any("onerror" in each or "@all" in each or "[link]" in each for each in outside)


def test_the_page_says_the_same_and_is_whole() -> None:
    found = read_review(
        "dev", [step("delete", BUCKET, "b"), said("encrypted", "x")], facts(group("a", 2)), facts(group("a", 1))
    )
    document = parse(page(found, version="1"))
    assert document.one("title").text == "Review of dev"
    assert [[cell.text for cell in row] for row in document.cells("lost")] == [["bucket", "deleted", "b", ""]]
    assert document.one("data", data_of="drained").attributes["value"] == "1"
    assert document.one("section", class_="summary").attributes["data-gpus"] == "8"
    assert document.one("main").attributes["class"] == "fail"
    assert parse(page(hostile())).all("img") == []


def test_json_holds_all() -> None:
    found = json.loads(as_json(read_review("dev", [step("create", GROUP, "a")], facts(), facts(group("a", 2)))))
    assert found["counts"] == {"replaced": 0, "deleted": 0, "updated": 0, "created": 1}
    assert found["changes"][0]["urn"] == urn(GROUP, "a")
    assert found["groups"][0]["after"]["machine"] == "p5.48xlarge"
