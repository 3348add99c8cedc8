"""Policy packs and hosted components: child processes whose output is passed to the engine."""

import os
import queue
import subprocess
import threading
from collections.abc import Iterator
from typing import IO

import grpc  # type: ignore[import-untyped]
from pulumi.runtime.proto import language_pb2

from tools.language_host.interpreter import interpreter_of

CHUNK_BYTES = 65536


def run_plugin(
    request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
) -> Iterator[language_pb2.RunPluginResponse]:
    """Run a plugin until it ends; it ends with the call that started it."""
    folder = request.info.program_directory
    python = interpreter_of(request.info)
    if request.kind == "analyzer":  # a policy pack: the engine's address, then the pack's folder
        command = [python, "-u", "-m", "pulumi.policy", *request.args, folder]
    else:  # a component package: its folder, which is also its own first argument, then the engine's arguments
        command = [python, "-u", folder, folder, *request.args]
    environment = {**os.environ, **dict(setting.split("=", 1) for setting in request.env)}
    with subprocess.Popen(
        command,
        cwd=request.pwd or folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        context.add_callback(process.kill)
        yield from _output(process)
        yield language_pb2.RunPluginResponse(exitcode=process.wait())


def _output(process: subprocess.Popen[bytes]) -> Iterator[language_pb2.RunPluginResponse]:
    """Both streams in the order in which they arrive, until both are closed."""
    arrived: queue.Queue[language_pb2.RunPluginResponse | None] = queue.Queue()

    def pump(stream: IO[bytes], name: str) -> None:
        while chunk := os.read(stream.fileno(), CHUNK_BYTES):
            answer = language_pb2.RunPluginResponse()
            setattr(answer, name, chunk)
            arrived.put(answer)
        arrived.put(None)

    streams = [(process.stdout, "stdout"), (process.stderr, "stderr")]
    for stream, name in streams:
        threading.Thread(target=pump, args=(stream, name), daemon=True).start()
    still_open = len(streams)
    while still_open:
        answer = arrived.get()
        if answer is None:
            still_open -= 1
        else:
            yield answer
