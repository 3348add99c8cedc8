"""The analyzer that the engine talks to, on the SDK's own protocol.

`pulumi-policy` decodes every resource again for each policy (25 policies over 1,000 launch templates of 32 NICs: 10 s), and of
each value that is not known yet it says that one policy "can't run", resource by resource. Here a resource is decoded once,
when the engine first shows it, and a rule says once how many resources it could not check.
"""

# ruff: noqa: N802, ARG002  (names and signatures are the protocol's)

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import grpc  # type: ignore[import-untyped]
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2

from gpufabric import __version__
from gpufabric.policy.decode import decode_struct
from gpufabric.policy.judge import Result, notes, over
from gpufabric.policy.model import Level, Resource, Rule, Stack
from gpufabric.policy.tree import Node, NotCheckedError

FACTS: Final = "GPUFABRIC_POLICY_FACTS"
"""Environment: a file into which the pack writes what it saw of the stack, for ``gpufabric review``."""
_LOOKS_EVERY_S: Final = 5
MAX_MESSAGE_BYTES = 400 << 20  # the engine's own limit
_LEVELS: Final[dict[Level, Any]] = {
    "advisory": analyzer_pb2.ADVISORY,
    "mandatory": analyzer_pb2.MANDATORY,
    "remediate": analyzer_pb2.REMEDIATE,
    "disabled": analyzer_pb2.DISABLED,
}
_NAMES: Final[dict[Any, Level]] = {value: name for name, value in _LEVELS.items()}
_SEVERITIES: Final = {
    "low": analyzer_pb2.POLICY_SEVERITY_LOW,
    "medium": analyzer_pb2.POLICY_SEVERITY_MEDIUM,
    "high": analyzer_pb2.POLICY_SEVERITY_HIGH,
    "critical": analyzer_pb2.POLICY_SEVERITY_CRITICAL,
}


class Analyzer(analyzer_pb2_grpc.AnalyzerServicer):
    """One pack, for one engine. Calls may come at once."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        self._name, self._rules = name, tuple(rules)
        self._levels: dict[str, Level] = {each.name: each.prod for each in rules}
        self._settings: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._seen: dict[str, Resource] = {}
        self._results: dict[str, list[Result]] = {}

    def Analyze(self, request: Any, context: Any) -> Any:
        """A resource, before it is made or changed: the rules that look at it alone."""
        resource = _resource(request)
        rules = self._active(needs_stack=False)
        results = list(over(rules, [resource], Stack(), self._settings))
        with self._lock:
            self._seen[resource.urn] = resource
            self._results[resource.urn] = results
        return analyzer_pb2.AnalyzeResponse(diagnostics=self._faults(results))

    def AnalyzeStack(self, request: Any, context: Any) -> Any:
        """All resources: the rules that need them together, and what could not be checked."""
        with self._lock:
            seen, earlier = dict(self._seen), dict(self._results)
        stack = Stack(_placed(seen.get(each.urn) or _resource(each), each) for each in request.resources)
        alone = self._active(needs_stack=False)
        unseen = [each for each in stack.by_urn.values() if each.urn not in earlier]
        late = list(over(alone, unseen, Stack(), self._settings))
        together = list(over(self._active(needs_stack=True), stack.by_urn.values(), stack, self._settings))
        before = [result for urn in stack.by_urn for result in earlier.get(urn, ())]
        noted = notes([*before, *late, *together])
        said = [self._diagnostic(each, noted[each.name], "", "advisory") for each in self._rules if each.name in noted]
        if FACTS in os.environ:
            from gpufabric.policy.facts import facts_of

            Path(os.environ[FACTS]).write_text(json.dumps(facts_of(stack)), encoding="utf-8")
        return analyzer_pb2.AnalyzeResponse(diagnostics=[*self._faults(late), *self._faults(together), *said])

    def Remediate(self, request: Any, context: Any) -> Any:
        """What rules at the level ``remediate`` add to the inputs; everything else in them stays as it came."""
        response = analyzer_pb2.RemediateResponse()
        properties = request.properties
        for each in self._rules:
            if each.remedy is None or self._levels[each.name] != "remediate" or not each.covers(request.type):
                continue
            try:
                added = each.remedy(_resource(request), {**each.defaults, **self._settings.get(each.name, {})})
            except NotCheckedError:
                continue  # the check says so
            for key, entries in added.items():
                properties.fields[key].struct_value.update(entries)
            if added:
                one = response.remediations.add(policyName=each.name, policyPackName=self._name, policyPackVersion=__version__)
                one.description = each.says
                one.properties.CopyFrom(properties)
        return response

    def GetAnalyzerInfo(self, request: Any, context: Any) -> Any:
        """What the pack holds, for the engine and for Pulumi's console."""
        info = analyzer_pb2.AnalyzerInfo(name=self._name, version=__version__, supportsConfig=True)
        for each in self._rules:
            schema = analyzer_pb2.PolicyConfigSchema()
            for setting in each.settings:
                schema.properties.update({setting.name: setting.schema})
            info.policies.append(
                analyzer_pb2.PolicyInfo(
                    name=each.name,
                    displayName=each.name.replace("-", " "),
                    description=each.says,
                    message=each.why,
                    enforcementLevel=_LEVELS[each.prod],
                    configSchema=schema,
                    policy_type=analyzer_pb2.POLICY_TYPE_STACK if each.needs_stack else analyzer_pb2.POLICY_TYPE_RESOURCE,
                    severity=_SEVERITIES[each.severity],
                    tags=each.tags,
                    remediation_steps=each.fix,
                    url=each.url,
                )
            )
        return info

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        """The version of the rules."""
        return plugin_pb2.PluginInfo(version=__version__)

    def Configure(self, request: Any, context: Any) -> Any:
        """Levels and settings of rules; the engine has held them against the schema."""
        for name, config in request.policyConfig.items():
            self._levels[name] = _NAMES[config.enforcementLevel]
            self._settings[name] = decode_struct(config.properties)
        return empty_pb2.Empty()

    def ConfigureStack(self, request: Any, context: Any) -> Any:
        """A new run over a stack: what was seen before is of no interest."""
        with self._lock:
            self._seen.clear()
            self._results.clear()
        return analyzer_pb2.AnalyzerStackConfigureResponse()

    def Handshake(self, request: Any, context: Any) -> Any:
        """Nothing is asked of the engine."""
        return analyzer_pb2.AnalyzerHandshakeResponse()

    def Cancel(self, request: Any, context: Any) -> Any:
        """Calls are short."""
        return empty_pb2.Empty()

    def _active(self, *, needs_stack: bool) -> list[Rule]:
        return [each for each in self._rules if each.needs_stack is needs_stack and self._levels[each.name] != "disabled"]

    def _faults(self, results: Sequence[Result]) -> list[Any]:
        """A rule at the level ``remediate`` that still finds something is mandatory."""
        found = []
        for each in results:
            level = self._levels[each.rule.name]
            level = "mandatory" if level == "remediate" else level
            found += [self._diagnostic(each.rule, fault, each.resource.urn, level) for fault in each.faults]
        return found

    def _diagnostic(self, each: Rule, text: str, urn: str, level: Level) -> Any:
        return analyzer_pb2.AnalyzeDiagnostic(
            policyName=each.name,
            policyPackName=self._name,
            policyPackVersion=__version__,
            description=each.says,
            message=text if text.startswith("not checked") else f"{text}\nTo fix: {each.fix} ({each.url})",
            enforcementLevel=_LEVELS[level],
            urn=urn,
            severity=_SEVERITIES[each.severity],
        )


def _resource(request: Any) -> Resource:
    """Both messages, a resource alone and one of a stack, have the same fields as far as they are read here."""
    return Resource(
        urn=request.urn,
        kind=request.type,
        name=request.name,
        props=Node(decode_struct(request.properties)),
        provider=Node(decode_struct(request.provider.properties)),
        protect=request.options.protect,
        parent=request.options.parent,
    )


def _placed(resource: Resource, request: Any) -> Resource:
    """The resource with what it hangs on. Its inputs are those that it was first shown with: a preview knows no outputs."""
    links = {key: tuple(each.urns) for key, each in request.propertyDependencies.items() if each.urns}
    options = request.options
    return replace(resource, protect=options.protect, parent=request.parent, links=links, after=tuple(request.dependencies))


def serve(name: str, rules: Sequence[Rule]) -> None:
    """Serve the pack until the engine ends this process; the port is the one line that it prints."""
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES)]
    server = grpc.server(ThreadPoolExecutor(4), options=options)
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(Analyzer(name, rules), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    server.wait_for_termination()


def _leave_with(parent: int) -> None:
    """End this process when its parent ends: a killed engine sends no farewell."""
    while os.getppid() == parent:
        time.sleep(_LOOKS_EVERY_S)
    os._exit(0)
