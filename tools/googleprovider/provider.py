"""The program `pulumi-google-bridge`: what it is told when it starts, and what it says of itself."""

import json
import os
import subprocess
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tools.errors import ToolError
from tools.toolchain.programs import Program, read_programs, select

GROUP = "provider-google"
PLUGIN = "pulumi-resource-gcp"
# Opens nothing: no request leaves this machine.
TOKEN = "none"  # noqa: S105


def program() -> Program:
    """The row of the table of programs."""
    (found,) = select(read_programs(), GROUP)
    return found


def built() -> bool:
    """Has `make provider-google` been run?"""
    return program().installed.exists()


@cache
def read_names() -> Mapping[str, Mapping[str, str]]:
    """pulumi-gcp's tokens of resources and functions, each with Terraform's name."""
    found: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
    return found


@cache
def read_beta() -> Mapping[str, Mapping[str, Any]]:
    """What pulumi-gcp has and the released provider lacks: ``lacking`` and, of these, what is ``accepted``."""
    found: Mapping[str, Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("beta.toml").read_text("utf-8"))
    return found


def environment(apis: str) -> dict[str, str]:
    """What the provider is told: the names, where Google's APIs are, and that the world outside is nowhere else."""
    names = {table: {theirs: ours for ours, theirs in rows.items()} for table, rows in read_names().items()}
    accepted = {read_names()["resources"][token]: fields for token, fields in read_beta()["accepted"].items()}
    return {
        "GPUFABRIC_GOOGLE_NAMES": json.dumps({**names, "beta": accepted}),
        "GPUFABRIC_GOOGLE_APIS": apis,
        "GOOGLE_OAUTH_ACCESS_TOKEN": TOKEN,
        # The stand-in refuses to connect anybody: asked for are only the identity behind the token, and mTLS.
        "HTTPS_PROXY": apis,
        "GOOGLE_APPLICATION_CREDENTIALS": "",
        "GOOGLE_API_USE_CLIENT_CERTIFICATE": "false",
    }


def plugin_folder(folder: Path) -> Path:
    """A new folder for PATH, in which `pulumi` finds the program as pulumi-gcp's."""
    made = folder / "plugins"
    made.mkdir()
    (made / PLUGIN).symlink_to(program().installed)
    return made


def describe() -> dict[str, Any]:
    """Token -> property -> what the bridge knows of it, for every resource."""
    told = subprocess.run(
        [str(program().installed), "describe"],
        env={**os.environ, **environment("")},
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode:
        raise ToolError(f"{program().installed} describe: {told.stderr.strip()[-600:]}")
    found: dict[str, Any] = json.loads(told.stdout)
    return found
