"""One run of Pulumi's dynamic bridge with AWS's provider below it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import grpc  # type: ignore[import-untyped]
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from tools.awsprovider.fields import Pairs, bridge_fields, pairs
from tools.awsprovider.names import Names
from tools.errors import ToolError
from tools.folders import REPOSITORY
from tools.samples.sdk import pulumi_fields
from tools.toolchain.programs import read_programs, select

GROUP = "provider-aws"
KEEPER = REPOSITORY / "tools" / "keeper.py"
# The schema of all of AWS is a message of 300 MB.
MESSAGE_SIZE = [("grpc.max_receive_message_length", 400 << 20), ("grpc.max_send_message_length", 400 << 20)]


def programs() -> tuple[Path, Path]:
    """The bridge and the provider; they may not be built yet."""
    bridge, provider = select(read_programs(), GROUP)
    return bridge.installed, provider.installed


def built() -> bool:
    """Has `make provider-aws` been run?"""
    return all(program.exists() for program in programs())


@dataclass
class Bridge:
    """A running bridge that speaks for AWS's provider. Both are one process group, which ends with this process."""

    names: Names
    environment: Mapping[str, str]
    log: Path
    schema: dict[str, Any] = field(init=False)
    stub: Any = field(init=False)
    _process: subprocess.Popen[bytes] = field(init=False)
    _channel: Any = field(init=False)
    _pairs: dict[str, Pairs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program, _ = programs()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(KEEPER), str(program), "127.0.0.1:1"],
                # Whatever this machine knows of an AWS account stays out of it.
                env={**{k: v for k, v in os.environ.items() if not k.startswith("AWS_")}, **self.environment},
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        port = cast("IO[bytes]", self._process.stdout).readline().strip()
        if not port.isdigit():
            self.stop()
            raise ToolError(f"{program} did not start; see {self.log}")
        self._channel = grpc.insecure_channel(f"127.0.0.1:{int(port)}", options=MESSAGE_SIZE)
        self.stub = provider_pb2_grpc.ResourceProviderStub(self._channel)

    def parameterize(self) -> None:
        """Make it AWS's provider: only after it was attached to the engine."""
        _, provider = programs()
        arguments = [str(provider), "--provider-name", "aws", "--include", ",".join(self.names.of_terraform)]
        self.stub.Parameterize(
            provider_pb2.ParameterizeRequest(args=provider_pb2.ParameterizeRequest.ParametersArgs(args=arguments))
        )
        self.schema = json.loads(self.stub.GetSchema(provider_pb2.GetSchemaRequest()).schema)

    def pairs(self, token: str) -> Pairs:
        """How a resource of pulumi-aws is written for the bridge."""
        if token not in self._pairs:
            known = not token.startswith("pulumi:")
            self._pairs[token] = (
                pairs(pulumi_fields(token), bridge_fields(self.schema, self.names.of_bridge(token))) if known else []
            )
        return self._pairs[token]

    def stop(self) -> None:
        """End the bridge and the provider that it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        if hasattr(self, "_channel"):
            self._channel.close()
