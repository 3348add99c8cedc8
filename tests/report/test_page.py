"""The page: its numbers are the verdict's, what a cluster says stays text, and nothing is loaded from anywhere."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpufabric.report import NoVerdictError, page, read_verdicts
from gpufabric.report.curve import ticks
from gpufabric.report.heatmap import MOST_NODES
from tests.report.dom import Element, parse
from tests.report.verdicts import FAIL, PASS, changed

EVIL = "<script>alert(1)</script>\"'&amp;"


def drawn(*verdicts: dict[str, Any]) -> Element:
    """The page of some verdicts, as the reader of HTML sees it."""
    return parse(page(read_verdicts(json.dumps(verdicts)), version="0.1.0", note="a test"))


def values(row: list[Element]) -> list[float | None]:
    """The number of each cell; None for a cell without one."""
    return [(found[0] if (found := cell.numbers()) else None) for cell in row]


@pytest.mark.parametrize("verdict", [PASS, FAIL], ids=["pass", "fail"])
def test_the_numbers_of_the_page_are_those_of_the_verdict(verdict: dict[str, Any]) -> None:
    found = drawn(verdict)
    assert found.one("section").attributes["data-outcome"] == verdict["outcome"]
    assert found.one("data", data_of="busbw_gbytes_per_s").attributes["value"] == repr(verdict["busbw_gbytes_per_s"])
    assert found.one("data", data_of="floor_busbw_gbytes_per_s").attributes["value"] == repr(
        verdict["floor_busbw_gbytes_per_s"]
    )
    assert [values(row) for row in found.cells("sizes")] == [
        [row[0], row[3], row[7], row[1], row[4]] for row in verdict["table"]
    ]
    assert [(values(row)[0], row[1].text, row[2].text, row[3].text, values(row)[4]) for row in found.cells("pairs")] == [
        (each["round"], *each["nodes"], each["outcome"], each["busbw_gbytes_per_s"]) for each in verdict.get("pairs", [])
    ]
    assert [(row[1].text, values(row)[2], row[3].text) for row in found.cells("findings")] == [
        (", ".join(each["nodes"]) or "nobody singled out", each["busbw_gbytes_per_s"], each["text"])
        for each in verdict.get("findings", [])
    ]
    environment = {row[0].text: row[1] for row in found.cells("environment")}
    assert environment["image"].text == verdict["image"]
    assert environment["run"].numbers() == [verdict["run"]]
    assert environment["ranks"].numbers() == [verdict["ranks"]]
    assert environment["backend"].text == verdict["backend"]
    assert environment["nodes"].text == ", ".join(verdict["nodes"])


def test_a_second_collective_stands_beside_the_first() -> None:
    also = {"collective": "all_gather", "outcome": "pass", "busbw_gbytes_per_s": 331.0, "floor_busbw_gbytes_per_s": None}
    drawn_rows = {row[0].text: row for row in drawn({**PASS, "also": [also]}).cells("figures")}
    assert values(drawn_rows["all_gather: pass"]) == [None, 331.0, None]
    assert drawn_rows["all_gather: pass"][2].text == "no floor is known for it"
    held = {**also, "outcome": "fail", "floor_busbw_gbytes_per_s": 350, "floor_source": "given in the spec"}
    drawn_rows = {row[0].text: row for row in drawn({**PASS, "also": [held]}).cells("figures")}
    assert drawn_rows["all_gather: fail"][2].text == "wanted, at least 350 GB/s, given in the spec"


def test_every_graphic_shows_what_the_table_beside_it_says() -> None:
    found = drawn(FAIL)
    curve = found.one("svg", class_="curve")
    points = [(float(each.attributes["data-size"]), float(each.attributes["data-busbw"])) for each in curve.all("circle")]
    assert points == [(row[0], row[3]) for row in FAIL["table"]]
    heights = [float(each.attributes["cy"]) for each in curve.all("circle")]
    assert sorted(range(4), key=lambda i: heights[i]) == sorted(range(4), key=lambda i: -points[i][1]), "more is higher"
    across = [float(each.attributes["cx"]) for each in curve.all("circle")]
    assert across == sorted(across)
    assert across[1] - across[0] == pytest.approx(1.5 * (across[2] - across[1]), abs=0.05), "logarithmic: 2^6, then 2^4"
    cells = [
        float(each.attributes["data-busbw"])
        for each in found.one("svg", class_="heatmap").all("rect")
        if "data-busbw" in each.attributes
    ]
    measured = [each["busbw_gbytes_per_s"] for each in FAIL["pairs"] if each["busbw_gbytes_per_s"]]
    assert sorted(cells) == sorted(measured * 2), "each pair on both sides of the diagonal"
    for graphic in found.all("svg"):
        assert graphic.attributes["role"] == "img"
        names = graphic.attributes["aria-labelledby"].split()
        assert {each.attributes.get("id") for each in graphic.walk()} >= set(names)


def test_the_floor_is_drawn_between_what_passes_and_what_does_not() -> None:
    for verdict in (PASS, FAIL):
        curve = drawn(verdict).one("svg", class_="curve")
        floor = float(curve.one("line", class_="floor").attributes["y1"])
        judged = next(each for each in curve.all("circle") if "judged" in each.attributes["class"])
        assert (float(judged.attributes["cy"]) < floor) == (verdict["outcome"] == "pass")


def test_the_healthy_range_is_drawn_where_it_is_known() -> None:
    band = drawn(PASS).one("svg", class_="curve").one("rect", class_="healthy")
    assert float(band.attributes["height"]) > 2
    assert "healthy: 387 to 469 GB/s" in drawn(PASS).text
    assert not drawn(FAIL).all("rect", class_="healthy")
    assert not drawn(changed(PASS, healthy_busbw_gbytes_per_s=[469, 387])).all("rect", class_="healthy")


def test_the_worst_of_the_nodes_health_comes_first() -> None:
    rows = [[cell.text for cell in row] for row in drawn(FAIL).cells("health")]
    assert rows[0] == [
        "n3", "link speed of eth0", "100 Mbit/s", "1000 Mbit/s", "fatal", "check the cable and the switch port"
    ]  # fmt: skip
    assert [row[0] for row in rows] == ["n3", "n1"]
    assert not drawn(PASS).cells("health")


def test_what_every_node_gave_inside_is_shown_those_that_did_not_pass_first() -> None:
    found = drawn(PASS)
    assert [(row[0].text, row[1].text, values(row)[2]) for row in found.cells("inside")] == [
        ("gpu-a", "pass", 478.5),
        ("gpu-b", "pass", 476.25),
    ]
    assert "8 GPUs of one node at 16 GiB; wanted: at least 430 GB/s (from the baseline table" in found.text
    nodes = {
        "a": {"outcome": "pass", "reason": "sums right", "busbw_gbytes_per_s": 0.5},
        "b": {"outcome": "unknown", "reason": "killed", "busbw_gbytes_per_s": None},
    }
    inside = {"what": "2 processes of one node", "size_bytes": 1048576, "floor_busbw_gbytes_per_s": None, "nodes": nodes}
    found = drawn(changed(FAIL, inside=inside))
    assert [(row[0].text, row[1].text, values(row)[2], row[3].text) for row in found.cells("inside")] == [
        ("b", "unknown", None, "killed"),
        ("a", "pass", 0.5, "sums right"),
    ]
    assert "no floor is known: complete, and every sum right" in found.text
    for nothing in (None, {}, {"what": "8 GPUs", "nodes": {}}, {"nodes": {"a": 3}}, [inside]):
        assert not drawn(changed(FAIL, inside=nothing)).cells("inside")


@pytest.mark.parametrize("outcome", ["pending", "deferred"])
def test_an_outcome_without_a_measurement_says_which_and_what_stays(outcome: str) -> None:
    found = drawn(changed(FAIL, outcome=outcome, busbw_gbytes_per_s=None, table=[], pairs=[], findings=[], health=None))
    assert found.one("section").attributes["data-outcome"] == outcome
    assert outcome.upper() in found.one("h2").text
    assert "their labels were not touched." in found.text
    assert "nothing measured" in found.text


def test_a_slow_node_that_was_measured_again_shows_its_last_result() -> None:
    pairs = [
        {"round": 2, "nodes": ["b", "a"], "outcome": "pass", "busbw_gbytes_per_s": 9.0},
        {"round": 1, "nodes": ["a", "b"], "outcome": "fail", "busbw_gbytes_per_s": 1.0},
    ]
    found = drawn(changed(FAIL, pairs=pairs))
    rects = [each for each in found.one("svg", class_="heatmap").all("rect") if "data-busbw" in each.attributes]
    assert [each.attributes["data-busbw"] for each in rects] == ["9", "9"]
    assert len(found.cells("pairs")) == 2, "the table has both"


def test_a_thousand_nodes_draw_the_suspects_and_list_all() -> None:
    pairs = [
        {"round": 1, "nodes": [f"n{i}", f"n{i + 1}"], "outcome": "fail" if i == 900 else "pass", "busbw_gbytes_per_s": 1.5}
        for i in range(0, 1024, 2)
    ]
    found = drawn(changed(FAIL, pairs=pairs))
    heatmap = found.one("svg", class_="heatmap")
    assert len([each for each in heatmap.all("rect") if each.attributes["class"] == "self"]) == MOST_NODES
    assert {"n900", "n901"} <= {each.text for each in heatmap.all("title")}
    assert len(found.cells("pairs")) == 512
    assert f"Of 1024 nodes, {MOST_NODES} are drawn" in found.text


TEXTS = ["group", "outcome", "reason", "fix", "stack", "backend", "collective", "floor_source", "image", "fingerprint"]


@pytest.mark.parametrize("key", [*TEXTS, "started_at", "finished_at"])
def test_what_a_cluster_says_stays_text(key: str) -> None:
    text = page(read_verdicts(json.dumps(changed(FAIL, **{key: EVIL}))), note=EVIL)
    assert "<script>alert" not in text
    assert text.count("<script>") == 1, "the page's own"
    assert EVIL in parse(text).text


def test_what_a_node_is_called_stays_text_everywhere() -> None:
    verdict = changed(
        FAIL,
        nodes=[EVIL],
        stand_ins=[EVIL],
        pairs=[{"round": 1, "nodes": [EVIL, "n1"], "outcome": EVIL, "busbw_gbytes_per_s": 1}],
        findings=[{"kind": EVIL, "nodes": [EVIL], "busbw_gbytes_per_s": None, "text": EVIL}],
        health=[dict.fromkeys(("node", "what", "measured", "wanted", "severity", "fix"), EVIL)],
        inside={"what": EVIL, "floor_source": EVIL, "nodes": {EVIL: {"outcome": EVIL, "reason": EVIL}}},
    )
    text = page(read_verdicts(json.dumps({EVIL: verdict})))
    assert "<script>alert" not in text
    assert text.count("<script>") == 1
    parse(text)


def test_what_cannot_be_seen_is_shown_as_a_sign() -> None:
    """A name that turns the direction of writing must not look like another one; a NUL and half a character cannot be sent."""
    found = drawn(changed(FAIL, nodes=["a\u202eb", "c\x00d", "e\ud800f", "g\x1b[31mh"]))
    environment = {row[0].text: row[1].text for row in found.cells("environment")}
    assert environment["nodes"] == "a\ufffdb, c\ufffdd, e\ufffdf, g\ufffd[31mh"
    page(read_verdicts(json.dumps(changed(FAIL, reason="\ud83d half")))).encode("utf-8")


def test_nothing_is_loaded_from_anywhere() -> None:
    text = page(read_verdicts(json.dumps(changed(FAIL, image="https://example.com/i.png"))))
    document = parse(text)
    for each in document.walk():
        assert not each.attributes.keys() & {"src", "srcset", "action", "data", "poster", "style"}, each.name
        assert not [key for key in each.attributes if key.startswith("on")]
        assert each.attributes.get("href", "#").startswith("#")
        assert each.name not in ("link", "img", "iframe", "object", "embed", "base", "form")
    style = document.one("style").text
    assert not re.search(r"url\(|@import|expression", style)
    (policy,) = (each.attributes["content"] for each in document.all("meta") if "http-equiv" in each.attributes)
    assert "default-src 'none'" in policy
    for name in ("style", "script"):
        digest = b64encode(sha256(document.one(name).text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy, "the one that is there, and no other"


def test_several_groups_share_a_page_with_an_overview_and_no_id_twice() -> None:
    found = drawn(PASS, FAIL, changed(FAIL, group="third"))
    assert [row[0].text for row in found.cells("overview")] == ["train", "slow", "third"]
    assert [values(row)[2:] for row in found.cells("overview")] == [[452.3, 300], [0.0078, 0.02], [0.0078, 0.02]]
    ids = [each.attributes["id"] for each in found.walk() if "id" in each.attributes]
    assert len(set(ids)) == len(ids)
    links = [each.attributes["href"].removeprefix("#") for each in found.all("a")]
    assert set(links) <= set(ids)
    assert not drawn(PASS).cells("overview"), "one group needs none"


@pytest.mark.parametrize(
    "gone",
    [
        "table",
        "busbw_gbytes_per_s",
        "floor_busbw_gbytes_per_s",
        "size_bytes",
        "nodes",
        "reason",
        "fix",
        "image",
        "run",
        "ranks",
    ],
)
def test_what_is_not_there_is_not_drawn(gone: str) -> None:
    verdict = {key: value for key, value in FAIL.items() if key != gone}
    found = drawn(verdict)
    assert found.one("h2").text == "\N{MULTIPLICATION SIGN} FAIL slow"
    if gone == "table":
        assert not found.all("svg", class_="curve")
    if gone == "busbw_gbytes_per_s":
        assert "nothing measured" in found.text
    if gone in ("busbw_gbytes_per_s", "floor_busbw_gbytes_per_s"):
        assert not found.all("svg", class_="gauge")


def test_an_unknown_run_says_that_it_proves_nothing() -> None:
    found = drawn({"outcome": "unknown", "reason": "rank 1 was killed", "fix": "read output.txt", "group": "train"})
    assert "Rank 1 was killed. The run proves nothing; nodes stay closed." in found.text
    assert "Next: read output.txt." in found.text
    assert "fix" not in " ".join(each.attributes.get("class", "") for each in drawn(PASS).all("p")), "a pass needs no advice"


@pytest.mark.parametrize("top", [1e-9, 0.0441, 0.11, 1, 3, 480.2, 1e12])
def test_an_axis_has_round_numbers_and_few(top: float) -> None:
    found = ticks(top)
    assert found[0] == 0
    assert 3 <= len(found) <= 7
    assert found[-1] <= top
    assert len({f"{value:.4g}" for value in found}) == len(found)


@pytest.mark.parametrize("floor", [5e-324, 1e-9, 1e300, 1.7e308, 0, -1])
@pytest.mark.parametrize("busbw", [5e-324, 1e-9, 1e300, 1.7e308, 0, -1])
def test_the_ends_of_what_a_number_can_be_are_drawn(busbw: float, floor: float) -> None:
    rows = [[1024, 1, 1, busbw, 0], [2**900, 1, 1, busbw, 0], [5e-324, 1, 1, 1, 0]]
    text = page(read_verdicts(json.dumps(changed(FAIL, busbw_gbytes_per_s=busbw, floor_busbw_gbytes_per_s=floor, table=rows))))
    assert not re.search(r'="-?(nan|inf)"', text)
    parse(text)


def anything(depth: int = 3) -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    return st.recursive(
        plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4), max_leaves=8
    )


NUMBER = st.none() | st.integers() | st.floats() | st.just(10**400) | st.sampled_from([0, -1, 5e-324, 1.7e308, 1e-9, "8", True])
TEXT = st.text(st.characters(), max_size=20) | st.just(EVIL)
PAIR = st.fixed_dictionaries(
    {
        "round": NUMBER,
        "nodes": st.lists(TEXT, max_size=3),
        "outcome": st.sampled_from(["pass", "fail", ""]),
        "busbw_gbytes_per_s": NUMBER,
    }
)
ODD_TEXTS = ("reason", "fix", "group", "stack", "nodes", "stand_ins", "started_at", "finished_at")
ODD_NUMBERS = ("busbw_gbytes_per_s", "algbw_gbytes_per_s", "latency_us", "floor_busbw_gbytes_per_s", "size_bytes", "run")
ODD = st.fixed_dictionaries(
    {"outcome": st.sampled_from(["pass", "fail", "unknown", "pending", "deferred", "odd", ""])},
    optional={
        **{key: TEXT | anything() for key in ODD_TEXTS},
        **{key: NUMBER | anything() for key in ODD_NUMBERS},
        "healthy_busbw_gbytes_per_s": st.lists(NUMBER, max_size=3) | anything(),
        "table": st.lists(st.lists(NUMBER, max_size=11), max_size=12) | anything(),
        "pairs": st.lists(PAIR, max_size=6) | anything(),
        "findings": st.lists(st.dictionaries(st.sampled_from(["kind", "nodes", "text"]), TEXT | anything())) | anything(),
        "health": st.lists(st.dictionaries(st.sampled_from(["node", "what", "severity"]), TEXT | anything())) | anything(),
        "inside": anything() | st.fixed_dictionaries({"nodes": st.dictionaries(TEXT, anything())}),
    },
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ODD, min_size=1, max_size=2))
def test_no_verdict_is_too_odd_for_a_page(verdicts: list[dict[str, Any]]) -> None:
    try:
        read = read_verdicts(json.dumps(verdicts))
    except NoVerdictError:
        return
    text = page(read, version="1", note="odd")
    text.encode("utf-8")
    document = parse(text)
    assert len(document.all("section")) == len(read)
    assert text.count("<script>") == 1
    for each in document.walk():
        for key in ("x", "y", "cx", "cy", "width", "height", "x1", "y1", "value"):
            if key in each.attributes:
                assert re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?|100%|device-width.*", each.attributes[key]), each.attributes
