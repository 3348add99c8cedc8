"""From a kubeconfig file to an API client: client certificates, tokens and exec plugins, as kubectl reads them."""

import base64
import contextlib
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gpufabric.validation.api import Api

_EXEC_TIMEOUT_S = 60  # a cloud's credential plugin may ask a metadata service or refresh a login
_REQUEST_TIMEOUT_S = 5.0


class KubeconfigError(ValueError):
    """The kubeconfig cannot be used; the message says which file and why."""


def kubeconfig_path(given: str | None) -> Path:
    """The file: the one given, else the first of ``$KUBECONFIG``, else ``~/.kube/config``."""
    chosen = given or os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or "~/.kube/config"
    return Path(chosen).expanduser()


def connect(kubeconfig: str | None, context: str | None) -> Api:
    """An API client for a context of a kubeconfig; raises :class:`KubeconfigError`. Asks the server nothing yet."""
    file = kubeconfig_path(kubeconfig)
    config = _read(file)
    chosen = context or config.get("current-context")
    if not chosen:
        raise KubeconfigError(f"{file}: no current-context; name one under cluster.existing.context")
    found = _named(config, "contexts", chosen, file)["context"]
    cluster = _named(config, "clusters", found.get("cluster", ""), file)["cluster"]
    user = _named(config, "users", found["user"], file).get("user") or {} if found.get("user") else {}
    try:
        tls, token = _credentials(cluster, user, file)
    except (OSError, ValueError, ssl.SSLError) as error:
        raise KubeconfigError(f"{file}: context {chosen}: {error}") from None
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return Api(cluster["server"], tls, lambda: headers, timeout_s=_REQUEST_TIMEOUT_S, use_proxies=True)


def _read(file: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise KubeconfigError(f"{file}: {error.strerror}; set KUBECONFIG or cluster.existing.kubeconfig") from None
    except yaml.YAMLError as error:
        raise KubeconfigError(f"{file}: malformed YAML: {' '.join(str(error).split())}") from None
    if not isinstance(config, dict):
        raise KubeconfigError(f"{file}: not a kubeconfig")
    return config


def _named(config: Mapping[str, Any], kind: str, name: str, file: Path) -> dict[str, Any]:
    entries = {entry["name"]: entry for entry in config.get(kind) or [] if isinstance(entry, dict) and "name" in entry}
    if name not in entries:
        raise KubeconfigError(f"{file}: no entry {name!r} under {kind}; there are: {', '.join(sorted(entries)) or 'none'}")
    found: dict[str, Any] = entries[name]
    return found


def _credentials(cluster: Mapping[str, Any], user: Mapping[str, Any], file: Path) -> tuple[ssl.SSLContext, str]:
    tls = ssl.create_default_context()
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    elif ca := _material(cluster, "certificate-authority", file):
        tls.load_verify_locations(cadata=ca.decode())
    status = _exec(user["exec"], cluster) if "exec" in user else {}
    certificate = str(status.get("clientCertificateData", "")).encode() or _material(user, "client-certificate", file)
    key = str(status.get("clientKeyData", "")).encode() or _material(user, "client-key", file)
    if certificate and key:
        with _memory_file(certificate) as certificate_path, _memory_file(key) as key_path:
            tls.load_cert_chain(certificate_path, key_path)
    token = status.get("token") or user.get("token") or ""
    if not token and user.get("tokenFile"):
        token = (file.parent / user["tokenFile"]).read_text(encoding="utf-8").strip()
    return tls, token


def _material(entry: Mapping[str, Any], key: str, file: Path) -> bytes:
    """``<key>-data`` in base64, or the file named by ``<key>``, relative to the kubeconfig."""
    if data := entry.get(f"{key}-data"):
        return base64.b64decode(data)
    return (file.parent / entry[key]).read_bytes() if entry.get(key) else b""


def _exec(plugin: Mapping[str, Any], cluster: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run a credential plugin (client.authentication.k8s.io ExecCredential) and return its status."""
    version = plugin.get("apiVersion", "client.authentication.k8s.io/v1")
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    if plugin.get("provideClusterInfo"):
        info["spec"]["cluster"] = {"server": cluster["server"]}
    environment = {**os.environ, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    environment.update({each["name"]: each["value"] for each in plugin.get("env") or []})
    command = [plugin["command"], *(plugin.get("args") or [])]
    try:
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_EXEC_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ValueError(f"the credential plugin {command[0]} gave no answer in {_EXEC_TIMEOUT_S} s") from None
    if ran.returncode:
        raise ValueError(f"the credential plugin {command[0]} failed: {ran.stderr.strip()[-300:]}")
    status: Mapping[str, Any] = json.loads(ran.stdout).get("status") or {}
    return status


@contextlib.contextmanager
def _memory_file(content: bytes) -> Iterator[str]:
    """A path that holds ``content`` for the TLS library, in memory where the system offers it, private to this user."""
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - private file, gone at once
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(content)
        file.flush()
        yield file.name
