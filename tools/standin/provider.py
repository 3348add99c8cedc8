"""The gRPC service that the engine takes for a provider."""

# ruff: noqa: N802, ARG002  (names and signatures are the protocol's)

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from importlib.metadata import version
from typing import Any, NoReturn, TypeVar

import grpc  # type: ignore[import-untyped]
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from tools.standin import faults, values
from tools.standin.cloud import Cloud, CloudError

THREADS = 32  # a hanging call holds one; the engine starts 16 at a time on 4 cores
MAX_MESSAGE_BYTES = 400 << 20  # the engine's own limit
_KINDS = {
    "add": (provider_pb2.PropertyDiff.ADD, provider_pb2.PropertyDiff.ADD_REPLACE),
    "delete": (provider_pb2.PropertyDiff.DELETE, provider_pb2.PropertyDiff.DELETE_REPLACE),
    "update": (provider_pb2.PropertyDiff.UPDATE, provider_pb2.PropertyDiff.UPDATE_REPLACE),
}

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _reporting(method: _Method) -> _Method:
    """The cloud's refusals become the call's status, as a provider's do."""

    @wraps(method)
    def reported(self: "Provider", request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(self, request, context)
        except (CloudError, faults.FaultError) as error:
            _abort(context, str(error))
        except LookupError as error:
            _abort(context, f"the stand-in's data file wants {error} of {getattr(request, 'urn', request)}, which is not there")

    return reported  # type: ignore[return-value]


def _abort(context: grpc.ServicerContext, text: str) -> NoReturn:
    context.abort(grpc.StatusCode.UNKNOWN, text)
    raise AssertionError("abort raises")


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """Translates the engine's calls into the cloud's.

    It takes no secrets: the engine then hands out their values, and marks as secret what comes back under the same keys.
    """

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def Attach(self, request: Any, context: Any) -> empty_pb2.Empty:
        """The engine says where it listens; nothing is asked of it."""
        return empty_pb2.Empty()

    def Handshake(self, request: Any, context: Any) -> provider_pb2.ProviderHandshakeResponse:
        """Plain values only."""
        return provider_pb2.ProviderHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:
        """The installed SDK's version: its provider is what is stood in for."""
        return plugin_pb2.PluginInfo(version=version(f"pulumi-{self.cloud.description.name}"))

    def CheckConfig(self, request: Any, context: Any) -> provider_pb2.CheckResponse:
        """Any configuration will do."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> provider_pb2.DiffResponse:
        """A provider is never replaced."""
        same = request.old_inputs == request.news
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_NONE if same else provider_pb2.DiffResponse.DIFF_SOME
        )

    def Configure(self, request: Any, context: Any) -> provider_pb2.ConfigureResponse:
        """The region, where one is given, shapes ids and answers."""
        given = values.read(request.args)
        known = {key: str(given[key]) for key in self.cloud.constants if key in given}
        self.cloud.constants.update(known)
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    @_reporting
    def Invoke(self, request: Any, context: Any) -> provider_pb2.InvokeResponse:
        """A question."""
        answer = self.cloud.invoke(request.tok, values.read(request.args))
        return provider_pb2.InvokeResponse(**{"return": values.write(answer)})

    @_reporting
    def Check(self, request: Any, context: Any) -> provider_pb2.CheckResponse:
        """Names are given here, so that a preview shows them."""
        token, logical = _token(request.urn), request.urn.rpartition("::")[2]
        old, new = values.read(request.olds), values.read(request.news)
        checked = self.cloud.check(token, logical, old, new, request.randomSeed)
        return provider_pb2.CheckResponse(inputs=values.write(checked))

    @_reporting
    def Diff(self, request: Any, context: Any) -> provider_pb2.DiffResponse:
        """Input against input."""
        found = self.cloud.diff(_token(request.urn), values.read(request.old_inputs), values.read(request.news))
        detailed = {
            path: provider_pb2.PropertyDiff(kind=_KINDS[how][path in found.replacing], inputDiff=True)
            for path, how in found.changes.items()
        }
        changes = provider_pb2.DiffResponse.DIFF_SOME if detailed else provider_pb2.DiffResponse.DIFF_NONE
        top = sorted({path.partition(".")[0].partition("[")[0] for path in found.changes})
        return provider_pb2.DiffResponse(
            changes=changes,
            diffs=top,
            replaces=sorted({path.partition(".")[0].partition("[")[0] for path in found.replacing}),
            deleteBeforeReplace=found.in_place,
            detailedDiff=detailed,
            hasDetailedDiff=True,
        )

    @_reporting
    def Create(self, request: Any, context: grpc.ServicerContext) -> provider_pb2.CreateResponse:
        """A new object."""
        token, inputs = _token(request.urn), values.read(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=values.write(self.cloud.planned(token, inputs)))
        with_trouble = self._trouble("create", token, context)
        with_trouble("before")
        made = self.cloud.create(token, request.urn, inputs)
        with_trouble("after")
        return provider_pb2.CreateResponse(id=made.id, properties=values.write(made.properties))

    @_reporting
    def Read(self, request: Any, context: grpc.ServicerContext) -> provider_pb2.ReadResponse:
        """What there is; an empty id says that it is gone."""
        token = _token(request.urn)
        self._trouble("read", token, context)("before")
        found = self.cloud.read(token, request.id)
        if found is None:
            return provider_pb2.ReadResponse(id="")
        inputs = self.cloud.inputs(found, values.read(request.inputs))
        return provider_pb2.ReadResponse(id=found.id, properties=values.write(found.properties), inputs=values.write(inputs))

    @_reporting
    def Update(self, request: Any, context: grpc.ServicerContext) -> provider_pb2.UpdateResponse:
        """Changed in place."""
        token, inputs = _token(request.urn), values.read(request.news)
        if request.preview:
            planned = self.cloud.update(token, request.id, request.urn, inputs, preview=True)
            return provider_pb2.UpdateResponse(properties=values.write(planned))
        with_trouble = self._trouble("update", token, context)
        with_trouble("before")
        properties = self.cloud.update(token, request.id, request.urn, inputs)
        with_trouble("after")
        return provider_pb2.UpdateResponse(properties=values.write(properties))

    @_reporting
    def Delete(self, request: Any, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """Gone."""
        token = _token(request.urn)
        with_trouble = self._trouble("delete", token, context)
        with_trouble("before")
        self.cloud.delete(token, request.id, request.urn)
        with_trouble("after")
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> empty_pb2.Empty:
        """A hanging call ends with its caller."""
        return empty_pb2.Empty()

    def _trouble(self, operation: str, token: str, context: grpc.ServicerContext) -> Callable[[str], None]:
        """Count the call, and suffer what is due at each of its two moments."""
        due = self.cloud.trouble(operation, token)

        def suffer(moment: str) -> None:
            for number, fault in due:
                if fault.at == moment:
                    faults.suffer(self.cloud.store.connect, number, fault, context.is_active)

        return suffer


def _token(urn: str) -> str:
    """``urn:pulumi:stack::project::parent$kind::name`` -> kind."""
    return urn.split("::")[2].rpartition("$")[2]


def serve(cloud: Cloud) -> tuple[grpc.Server, int]:
    """Serve on a free port of the loopback."""
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES)]
    server = grpc.server(ThreadPoolExecutor(THREADS), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Provider(cloud), server)
    port: int = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port
