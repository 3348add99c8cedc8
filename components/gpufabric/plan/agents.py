"""What DaemonSets with programs of ours share: the programs, how they lie in their volume, and the token of the agent alone."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

TOKEN_MOUNT = {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}


def shipped_files(room: str, also: Sequence[str]) -> dict[str, str]:
    """Key of the ConfigMap -> text, of all programs of a room (``mounts``) and single files of others.

    Keys hold no slashes: ``mounts.agent.py`` is ``mounts/agent.py``.
    """
    package = Path(__file__).parent.parent
    ours = sorted(each for each in (package / room).iterdir() if each.suffix in {".py", ".sh"})
    files = [*ours, *(package / each for each in also)]
    return {file.relative_to(package).as_posix().replace("/", ".", 1): file.read_text("utf-8") for file in files}


def program_items(keys: Iterable[str]) -> list[dict[str, str]]:
    """The items of a volume in which the programs lie as in the package."""
    return [{"key": key, "path": f"gpufabric/{key.replace('.', '/', 1)}"} for key in sorted(keys)]


def token_volume() -> dict[str, Any]:
    """The account's token and the cluster's authority, for the one container that mounts it; the kubelet renews the token."""
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}
    authority = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    return {"name": "token", "projected": {"sources": [token, authority]}}
