"""The gRPC service that the engine talks to."""

# ruff: noqa: N802, ARG002  (names and signatures are the protocol's)

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import grpc  # type: ignore[import-untyped]
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from tools.language_host.interpreter import interpreter_of, is_ours
from tools.language_host.plugins import run_plugin
from tools.language_host.programs import MAX_MESSAGE_BYTES, program_of, run_elsewhere

# A plugin's call holds a thread for the plugin's life: a policy pack and a few component packages beside the program.
THREADS = 16


class Host(LanguageServer):
    """The SDK's server runs an inline function as the program; here the function runs a folder."""

    def __init__(self, engine: str, *, at_home: bool) -> None:
        super().__init__(lambda: None)
        self.engine = engine
        self._at_home = at_home
        self._lock = threading.Lock()
        self._used = False

    def Handshake(
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        """The engine says where it listens."""
        self.engine = request.engine_address or self.engine
        return language_pb2.LanguageHandshakeResponse()

    def Run(self, request: language_pb2.RunRequest, context: grpc.ServicerContext) -> language_pb2.RunResponse:
        """Run the program once."""
        python = interpreter_of(request.info)
        with self._lock:
            # A host that was started for one program runs it, whatever its interpreter calls itself: a `python` that is a
            # wrapper of another one would else be started again and again.
            here = (self._at_home or is_ours(python)) and not self._used
            self._used = self._used or here
        if not here:
            return run_elsewhere(python, self.engine, request)
        self.program = program_of(request)
        request.args.insert(0, self.engine)  # where the SDK's server looks for it
        answer: language_pb2.RunResponse = super().Run(request, context)  # type: ignore[no-untyped-call]
        # The SDK has logged the error by now; as an error of the call it would be printed a second time, as "unhandled".
        return language_pb2.RunResponse(bail=True) if answer.error else answer

    def RunPlugin(
        self, request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.RunPluginResponse]:
        """Run a policy pack or a component package."""
        return run_plugin(request, context)

    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        """The SDK's version is what matters about this host."""
        return plugin_pb2.PluginInfo(version=version("pulumi"))

    def InstallDependencies(
        self, request: language_pb2.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        """Dependencies are the repository's business (uv), not the engine's."""
        return iter(())

    def GetProgramDependencies(
        self, request: language_pb2.GetProgramDependenciesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetProgramDependenciesResponse:
        """Only `pulumi about` asks."""
        return language_pb2.GetProgramDependenciesResponse()

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """The engine's monitor goes away next, and with it the program's calls."""
        return empty_pb2.Empty()


def serve(engine: str, *, at_home: bool = False) -> tuple[grpc.Server, int]:
    """Start serving on a free port of the loopback. `at_home`: this host was started under its program's own interpreter."""
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES)]
    server = grpc.server(ThreadPoolExecutor(THREADS), options=options)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(Host(engine, at_home=at_home), server)
    port: int = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port
