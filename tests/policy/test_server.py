"""The analyzer as the engine calls it, without one: what it tells of itself, levels, and that nothing is decoded or kept "
"twice."""

from typing import Any

import pytest
from google.protobuf import struct_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import analyzer_pb2

from gpufabric.policy import RULES, server
from gpufabric.policy.decode import decode_json, decode_struct
from gpufabric.policy.server import Analyzer
from gpufabric.policy.tree import UNKNOWN, Secret

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": ["x"]}


def struct(props: dict[str, Any]) -> Any:
    made = struct_pb2.Struct()
    made.update(props)
    return made


def asked(name: str, **props: Any) -> Any:
    return analyzer_pb2.AnalyzeRequest(type=TEMPLATE, urn=f"urn::{name}", name=name, properties=struct(props))


def whole(*requests: Any) -> Any:
    resources = [analyzer_pb2.AnalyzerResource(type=each.type, urn=each.urn, name=each.name) for each in requests]
    return analyzer_pb2.AnalyzeStackRequest(resources=resources)


def said(response: Any) -> list[tuple[str, int, str]]:
    return [(each.policyName, each.enforcementLevel, each.urn) for each in response.diagnostics]


def test_the_wire_and_a_state_give_the_same_tree() -> None:
    raw = {"a": UNKNOWN_TEXT, "b": SECRET, "c": [1, 2.5, True, None, {"d": "e"}]}
    tree = decode_struct(struct(raw))
    assert tree == decode_json(raw) == {"a": UNKNOWN, "b": Secret(["x"]), "c": [1, 2.5, True, None, {"d": "e"}]}
    assert isinstance(tree["c"][0], int)


def test_the_pack_tells_of_every_rule_what_it_is_and_where_it_is_explained() -> None:
    info = Analyzer("gpufabric", RULES).GetAnalyzerInfo(None, None)
    assert [each.name for each in info.policies] == [each.name for each in RULES]
    for told, rule in zip(info.policies, RULES, strict=True):
        assert (told.description, told.remediation_steps, told.url) == (rule.says, rule.fix, rule.url)
        assert told.severity > 0
        assert set(told.configSchema.properties) == {each.name for each in rule.settings}


def test_a_resource_is_decoded_once_and_forgotten_with_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[Any] = []

    def counted(each: Any) -> dict[str, Any]:
        decoded.append(each)
        return decode_struct(each)

    monkeypatch.setattr(server, "decode_struct", counted)
    analyzer = Analyzer("gpufabric", RULES)
    request = asked("it", instanceType="p5.48xlarge", metadataOptions={"httpTokens": "required"})
    assert analyzer.Analyze(request, None).diagnostics == []
    (note,) = said(analyzer.AnalyzeStack(whole(request), None))
    assert note == ("encrypted", analyzer_pb2.ADVISORY, ""), "no blockDeviceMappings: said once, for the stack"
    assert len(decoded) == 2, "its properties and its provider's, in Analyze alone"
    analyzer.ConfigureStack(None, None)
    assert [each for each, _, _ in said(analyzer.AnalyzeStack(whole(request), None))] == ["instance-metadata", "encrypted"]


def test_levels_and_settings_are_the_configurations() -> None:
    analyzer = Analyzer("gpufabric", RULES)
    request = asked("it", metadataOptions={"httpPutResponseHopLimit": 3})
    assert said(analyzer.Analyze(request, None)) == [("instance-metadata", analyzer_pb2.MANDATORY, "urn::it")] * 2
    config = {
        "instance-metadata": analyzer_pb2.PolicyConfig(
            enforcementLevel=analyzer_pb2.ADVISORY, properties=struct({"most_hops": 3})
        )
    }
    analyzer.Configure(analyzer_pb2.ConfigureAnalyzerRequest(policyConfig=config), None)
    assert said(analyzer.Analyze(request, None)) == [("instance-metadata", analyzer_pb2.ADVISORY, "urn::it")]
    config["instance-metadata"].enforcementLevel = analyzer_pb2.DISABLED
    analyzer.Configure(analyzer_pb2.ConfigureAnalyzerRequest(policyConfig=config), None)
    assert said(analyzer.Analyze(request, None)) == []


@pytest.mark.parametrize(
    ("tags", "level", "expected"),
    [
        ({"owner": "ml"}, analyzer_pb2.REMEDIATE, {"owner": "ml", "ttl": "2027-01-01"}),
        (None, analyzer_pb2.REMEDIATE, {"owner": "tests", "ttl": "2027-01-01"}),
        ({"owner": "ml", "ttl": "x"}, analyzer_pb2.REMEDIATE, None),
        ({"owner": "ml"}, analyzer_pb2.ADVISORY, None),
        (UNKNOWN_TEXT, analyzer_pb2.REMEDIATE, None),
    ],
)
def test_missing_tags_are_added_at_the_level_remediate(tags: Any, level: Any, expected: dict[str, str] | None) -> None:
    analyzer = Analyzer("gpufabric", RULES)
    values = struct({"values": {"owner": "tests", "ttl": "2027-01-01"}})
    config = {"ttl-and-owner": analyzer_pb2.PolicyConfig(enforcementLevel=level, properties=values)}
    analyzer.Configure(analyzer_pb2.ConfigureAnalyzerRequest(policyConfig=config), None)
    props = {"userSecret": SECRET, "size": UNKNOWN_TEXT} | ({} if tags is None else {"tags": tags})
    request = analyzer_pb2.AnalyzeRequest(type="aws:eks/nodeGroup:NodeGroup", urn="urn::g", properties=struct(props))
    done = analyzer.Remediate(request, None).remediations
    if expected is None:
        assert list(done) == []
        return
    (one,) = done
    assert decode_struct(one.properties) == decode_json(props) | {"tags": expected}
