"""Programs: the first one runs in this process, which is fast; any further one in a fresh interpreter, which is correct.

A second run in the same interpreter would find the program's modules already imported, and what they declare at import time
would be missing from it.
"""

import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

import grpc  # type: ignore[import-untyped]
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

HOST = Path(__file__).with_name("__main__.py")
MAX_MESSAGE_BYTES = 400 << 20  # the engine's own limit


def program_of(request: language_pb2.RunRequest) -> Callable[[], None]:
    """What runs inside the stack."""
    folder = request.info.program_directory
    path = str(Path(folder, request.info.entry_point or "."))

    def program() -> None:
        os.chdir(request.pwd or folder)
        sys.path.insert(0, folder)
        sys.argv = [path]
        runpy.run_path(path, run_name="__main__")

    return program


def run_elsewhere(python: str, engine: str, request: language_pb2.RunRequest) -> language_pb2.RunResponse:
    """Run a program under another interpreter: start this host there, pass the request on, end it."""
    command = [python, "-u", "-P", str(HOST), "--at-home", engine]
    forwarded = language_pb2.RunRequest()
    forwarded.CopyFrom(request)
    forwarded.info.options.fields.pop("virtualenv", None)  # it is there already: it must not pass the request on once more
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            if not port:
                return language_pb2.RunResponse(error=f"{python} could not run the language host; is pulumi installed there?")
            forward = threading.Thread(target=_forward, args=(process.stdout,), daemon=True)
            forward.start()
            options = [
                ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ]
            with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
                answer: language_pb2.RunResponse = language_pb2_grpc.LanguageRuntimeStub(channel).Run(forwarded)
        finally:
            process.kill()
        forward.join()
        return answer


def _forward(stream: IO[str]) -> None:
    """What the program prints."""
    for line in stream:
        print(line, end="", flush=True)
