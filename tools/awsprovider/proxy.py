"""Answers Pulumi as the provider ``aws`` and passes every call on to a bridge, under the names that the bridge knows."""

import threading
from collections.abc import Mapping
from concurrent import futures
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
from google.protobuf import empty_pb2, json_format, struct_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc

from tools.awsprovider.bridge import MESSAGE_SIZE, Bridge
from tools.awsprovider.fields import Pairs, from_bridge, to_bridge
from tools.awsprovider.names import Names, read_names
from tools.awsprovider.paths import path_from_bridge, path_to_bridge

# Fields of Pulumi's messages that hold a resource's properties, in requests and in answers.
_ASKED = ("olds", "news", "properties", "old_inputs", "inputs")
_ANSWERED = ("inputs", "properties")
_PATHS_ASKED = ("ignoreChanges",)
_PATHS_ANSWERED = ("replaces", "stables", "diffs", "deleteBeforeReplace")
# What the bridge keeps beside a state: how Terraform's differs from it. Under other names and without empty lists it is untrue.
_DIFFERENCE = "__pulumi_raw_state_delta"
_CALLS = ("CheckConfig", "DiffConfig", "Configure", "Check", "Diff", "Create", "Update", "Delete", "Read", "Invoke", "Cancel")


class Proxy(provider_pb2_grpc.ResourceProviderServicer):
    """Pulumi opens a connection per provider of a program. Each gets a bridge of its own: a bridge has one configuration."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._names: Names = read_names()
        self._environment = environment
        self._log = log
        self._bridges: dict[str, Bridge] = {}
        self._lock = threading.Lock()

    def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        """The first call of a connection."""
        bridge = Bridge(self._names, self._environment, self._log)
        with self._lock:
            self._bridges[context.peer()] = bridge
        bridge.stub.Attach(request)
        bridge.parameterize()
        return empty_pb2.Empty()

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        """Newer than the bridge: the engine goes on with Attach."""
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "no handshake")

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        """The version that the program's package asks for."""
        return plugin_pb2.PluginInfo(version=version("pulumi-aws"))

    def pass_on(self, call: str, request: Any, context: Any) -> Any:
        """One call under the bridge's names, its answer under ours."""
        bridge = self._bridges[context.peer()]
        token = getattr(request, "urn", "").split("::")[2].split("$")[-1] if getattr(request, "urn", "") else ""
        try:
            if call == "Invoke":
                request.tok = self._names.function_of_bridge(request.tok)
            elif token:
                self._rename(request, token)
        except KeyError as missing:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{missing} has no row in tools/awsprovider/names.toml")
        name = self._names.named.get(token)
        if call == "Check" and name and name not in request.news and request.autonaming.proposed_name:
            request.news[name] = request.autonaming.proposed_name
        known = bridge.pairs(token) if token else []
        _translate(request, _ASKED, known, to_bridge)
        _move_paths(request, _PATHS_ASKED, known, path_to_bridge)
        try:
            answer = getattr(bridge.stub, call)(request)
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())
        _translate(answer, _ANSWERED, known, from_bridge)
        _move_paths(answer, _PATHS_ANSWERED, known, path_from_bridge)
        if call == "Diff":
            detailed = {path_from_bridge(path, known): each for path, each in answer.detailedDiff.items()}
            answer.ClearField("detailedDiff")
            for path, each in detailed.items():
                answer.detailedDiff[path].CopyFrom(each)
        return answer

    def rest(self) -> None:
        """Stop all bridges: the engine does not say that it is done."""
        with self._lock:
            bridges, self._bridges = list(self._bridges.values()), {}
        for bridge in bridges:
            bridge.stop()

    def _rename(self, request: Any, token: str) -> None:
        request.urn = self._names.urn_of_bridge(request.urn)
        if getattr(request, "type", ""):
            request.type = self._names.of_bridge(token)


def _translate(message: Any, fields: tuple[str, ...], known: Pairs, direction: Any) -> None:
    present = {each.name for each in message.DESCRIPTOR.fields} if known else set()
    for name in present.intersection(fields):
        held = getattr(message, name)
        if isinstance(held, struct_pb2.Struct) and message.HasField(name):
            translated = direction(json_format.MessageToDict(held), known)
            translated.pop(_DIFFERENCE, None)
            held.Clear()
            json_format.ParseDict(translated, held)


def _move_paths(message: Any, fields: tuple[str, ...], known: Pairs, direction: Any) -> None:
    present = {each.name for each in message.DESCRIPTOR.fields} if known else set()
    for name in present.intersection(fields):
        held = getattr(message, name)
        if not isinstance(held, bool):
            moved = [direction(path, known) for path in held]
            message.ClearField(name)
            getattr(message, name).extend(moved)


def _forwarder(call: str) -> Any:
    return lambda self, request, context: self.pass_on(call, request, context)


for _call in _CALLS:
    setattr(Proxy, _call, _forwarder(_call))


def serve(proxy: Proxy) -> tuple[Any, int]:
    """Serve on loopback; the server and its port."""
    server = grpc.server(futures.ThreadPoolExecutor(32), options=MESSAGE_SIZE)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(proxy, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port
