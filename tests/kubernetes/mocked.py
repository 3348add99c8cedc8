"""Run a Pulumi program without an engine: every registration is recorded as it would go over the wire, and all is awaited."""

import asyncio
import contextvars
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import empty_pb2, json_format, struct_pb2  # type: ignore[import-untyped]
from pulumi.runtime import set_all_config
from pulumi.runtime.mocks import MockEngine, MockMonitor, Mocks, MockSettings
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.rpc import UNKNOWN
from pulumi.runtime.settings import configure, set_root_resource
from pulumi.runtime.stack import run_in_stack

PROJECT = "gpufabric"
VERDICT: Mapping[str, Any] = {"outcome": "pass", "reason": "busbw 0.07 GB/s at 16 MiB", "nodes": ["n1", "n2"]}
_STACK = "pulumi:pulumi:Stack"
_PROVIDERS = "pulumi:providers:"


@dataclass
class Registered:
    """One registration. ``options`` hold only what differs from the defaults; URNs are shortened to ``type name``."""

    type: str
    name: str
    parent: str
    provider: str
    inputs: dict[str, Any]
    options: dict[str, Any]
    links: dict[str, list[str]] = field(default_factory=dict)
    """Property -> labels of the resources whose outputs it holds."""
    read: str = ""
    """Id of an object that is read, not made."""
    outputs: dict[str, Any] | None = None

    @property
    def label(self) -> str:
        return f"{self.type} {self.name}"


@dataclass
class Recording:
    """What a program did, in the order of registration (which is not fixed: sort before you compare)."""

    resources: list[Registered] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    invoked: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    """Token, arguments and provider of each call."""

    def of(self, kind: str) -> list[Registered]:
        """All resources whose type ends in ``kind``, by name."""
        return sorted((each for each in self.resources if each.type.split(":")[-1] == kind), key=lambda each: each.name)

    def one(self, kind: str, name: str = "") -> Registered:
        """The only one of a type, or the one of that name."""
        (found,) = [each for each in self.of(kind) if name in ("", each.name)]
        return found


Computed = Mapping[str, Any] | Callable[[Registered], Mapping[str, Any]]
"""What a cloud adds to a resource: always the same, or according to its inputs."""


class _NoMocks(Mocks):
    def call(self, args: Any) -> Any:
        raise AssertionError(f"a component invoked {args.token}")

    def new_resource(self, args: Any) -> Any:
        raise AssertionError("the recorder answers itself")


class _Recorder(MockMonitor):
    """Answers registrations with their own inputs, as a provider that accepts everything, and what its cloud adds to them."""

    def __init__(
        self,
        recording: Recording,
        cluster: Mapping[str, Mapping[str, Any]],
        computed: Mapping[str, Computed],
        *,
        preview: bool,
    ) -> None:
        super().__init__(_NoMocks())
        self._computed = computed
        self._recording, self._cluster, self._preview = recording, cluster, preview
        self._by_urn: dict[str, Registered] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - gRPC's name
        urn = self.make_urn(request.parent, request.type, request.name)
        assert urn not in self._by_urn, f"{urn} is registered twice"
        found = self._record(urn, request, _options(request), request.object)
        physical = "" if self._preview or not request.custom else f"id-of-{request.name}"
        self._recording.resources += [] if found.type == _STACK else [found]
        made = struct_pb2.Struct()
        made.CopyFrom(request.object)
        if not self._preview:
            computed = self._computed.get(found.type, {})
            made.update(_merged(found.inputs, computed(found) if callable(computed) else computed))
        return resource_pb2.RegisterResourceResponse(urn=urn, id=physical, object=made)

    def ReadResource(self, request: Any) -> Any:  # noqa: N802
        urn = self.make_urn(request.parent, request.type, request.name)
        found = self._record(urn, request, _options(request), request.properties)
        found.read = "(not known yet)" if request.id == UNKNOWN else request.id
        self._recording.resources.append(found)
        properties = struct_pb2.Struct()
        if request.id != UNKNOWN:
            properties.update(self._cluster[request.id])
        return resource_pb2.ReadResourceResponse(urn=urn, properties=properties)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        outputs = _plain(json_format.MessageToDict(request.outputs))
        found = self._by_urn[request.urn]
        assert found.outputs is None, f"outputs of {found.label} are registered twice"
        found.outputs = outputs
        if found.type == _STACK:
            self._recording.outputs = outputs
        return empty_pb2.Empty()

    def Invoke(self, request: Any) -> Any:  # noqa: N802
        assert request.tok in self._computed, f"a component invoked {request.tok}"
        asked = _plain(json_format.MessageToDict(request.args))
        self._recording.invoked.append((request.tok, asked, _short(request.provider.rpartition("::")[0])))
        answer = struct_pb2.Struct()
        added = self._computed[request.tok]
        assert not callable(added), request.tok
        answer.update({**asked, **added})
        return resource_pb2.ResourceInvokeResponse(**{"return": answer})

    def _record(self, urn: str, request: Any, options: dict[str, Any], inputs: Any) -> Registered:
        found = Registered(
            type=request.type,
            name=request.name,
            parent=_short(request.parent),
            provider=_short(request.provider.rpartition("::")[0]),
            inputs=_plain(json_format.MessageToDict(inputs)),
            options=options,
        )
        dependencies = getattr(request, "propertyDependencies", {})  # a read has none
        found.links = {key: sorted(map(_short, each.urns)) for key, each in dependencies.items() if each.urns}
        self._by_urn[urn] = found
        return found


# Fields of a request that are recorded by name, or say how the SDK speaks to the engine.
_SEEN_ELSEWHERE = frozenset(
    """type name parent provider object properties custom id propertyDependencies version pluginDownloadURL packageRef
    acceptSecrets acceptResources acceptsOutputValues supportsPartialValues supportsResultReporting sourcePosition stackTrace
    aliasSpecs remote providers deleteBeforeReplaceDefined""".split()  # noqa: SIM905 - easier to read
)


def _options(request: Any) -> dict[str, Any]:
    """All other fields that are set: a new option of a new SDK shows up by itself."""
    raw = json_format.MessageToDict(request)
    options = {key: value for key, value in raw.items() if key not in _SEEN_ELSEWHERE}
    options["dependencies"] = sorted(map(_short, options.get("dependencies", [])))
    options["aliases"] = [each for each in options.get("aliases", []) if not _of_the_sdk(each)]
    return {key: value for key, value in options.items() if value not in ({}, [])}


def _of_the_sdk(alias: dict[str, Any]) -> bool:
    """The generated SDK names the older versions of each Kubernetes kind; aliases of our own stay."""
    return str(alias.get("spec", {}).get("type", "")).startswith("kubernetes:")


def _merged(inputs: Mapping[str, Any], computed: Mapping[str, Any]) -> dict[str, Any]:
    """What the cloud adds: new outputs, and new keys of an input that is a mapping."""
    return {
        key: {**inputs[key], **value} if isinstance(inputs.get(key), dict) and isinstance(value, Mapping) else value
        for key, value in computed.items()
    }


def _plain(value: Any) -> Any:
    """Whole numbers as such: on the wire every number is a float."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _short(urn: str) -> str:
    """``urn:pulumi:stack::project::a$b::name`` as ``b name``; empty for the stack itself."""
    if not urn:
        return ""
    kind, name = urn.split("::")[2:4]
    return "" if kind == _STACK else f"{kind.split('$')[-1]} {name}"


def run(
    program: Callable[[], object],
    *,
    stack: str = "dev",
    preview: bool = False,
    config: Mapping[str, object] | None = None,
    cluster: Mapping[str, Mapping[str, Any]] | None = None,
    computed: Mapping[str, Computed] | None = None,
    recording: Recording | None = None,
) -> Recording:
    """Run ``program`` as the body of a stack and wait for all it started; raises what it raises.

    ``cluster``: objects that can be read, by id. ``computed``: outputs that a cloud adds, by the type of a resource or a call.
    ``recording``: where to note, for a program that raises. Each run has settings of its own, since Pulumi keeps them in
    context variables.
    """
    recording = recording or Recording()

    def once() -> None:
        program()

    def body() -> None:
        loop = asyncio.new_event_loop()
        try:
            asyncio.set_event_loop(loop)
            monitor = _Recorder(recording, verdicts() if cluster is None else cluster, computed or {}, preview=preview)
            features = set(monitor.GetDeploymentInfo(empty_pb2.Empty()).supportedFeatures)  # type: ignore[no-untyped-call]
            settings: dict[str, Any] = {"project": PROJECT, "stack": stack, "dry_run": preview}
            settings |= {"organization": None, "callbacks": None}
            settings |= {"monitor": monitor, "monitor_features": features, "engine": MockEngine(None)}
            configure(MockSettings(**settings))  # type: ignore[no-untyped-call]
            set_all_config({key: json.dumps(value) for key, value in (config or {}).items()})
            set_root_resource(None)  # type: ignore[arg-type]
            loop.run_until_complete(run_in_stack(once))
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()
            asyncio.set_event_loop(None)

    contextvars.copy_context().run(body)
    return recording


def verdicts(*names: str, **changes: Any) -> dict[str, dict[str, Any]]:
    """The verdict ConfigMap of gates, by ``namespace/name``."""
    data = {"verdict.json": json.dumps({**VERDICT, **changes})}
    return {name: {"data": data} for name in names or ("gpufabric-dev-train/train-verdict",)}
