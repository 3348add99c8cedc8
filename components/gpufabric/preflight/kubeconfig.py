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
    found = _named(config, "context", chosen, file)
    cluster = _named(config, "cluster", found.get("cluster"), file)
    user = _named(config, "user", found["user"], file) if found.get("user") else {}
    if not str(cluster.get("server", "")).startswith(("https://", "http://")):
        raise KubeconfigError(f"{file}: cluster {found.get('cluster')} names no server (https://...)")
    try:
        tls, token = _credentials(cluster, user, file)
    except OSError as error:
        raise KubeconfigError(f"{file}: context {chosen}: {error.filename}: {error.strerror}") from None
    except ValueError as error:
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
    except ValueError:
        raise KubeconfigError(f"{file}: not text, so not a kubeconfig") from None
    if not isinstance(config, dict):
        raise KubeconfigError(f"{file}: not a kubeconfig: no mapping of keys")
    return config


def _named(config: Mapping[str, Any], kind: str, name: object, file: Path) -> dict[str, Any]:
    """The ``cluster``, ``context`` or ``user`` of that name in the list of its kind."""
    listed = config.get(f"{kind}s")
    entries = {str(each["name"]): each for each in (listed if isinstance(listed, list) else []) if _has_name(each)}
    if str(name) not in entries:
        raise KubeconfigError(f"{file}: no {kind} {name!r}; there are: {', '.join(sorted(entries)) or 'none'}")
    found = entries[str(name)].get(kind) or {}
    if not isinstance(found, dict):
        raise KubeconfigError(f"{file}: {kind} {name!r} is not a mapping of keys")
    return found


def _has_name(entry: object) -> bool:
    return isinstance(entry, dict) and "name" in entry


def _credentials(cluster: Mapping[str, Any], user: Mapping[str, Any], file: Path) -> tuple[ssl.SSLContext, str]:
    tls = _trust(cluster, file)
    status = _exec(user["exec"], cluster, file) if isinstance(user.get("exec"), dict) else {}
    certificate = str(status.get("clientCertificateData", "")).encode() or _material(user, "client-certificate", file)
    key = str(status.get("clientKeyData", "")).encode() or _material(user, "client-key", file)
    if certificate and key:
        with _memory_file(certificate) as certificate_path, _memory_file(key) as key_path:
            try:
                tls.load_cert_chain(certificate_path, key_path)
            except ssl.SSLError:
                raise ValueError("client-certificate and client-key are not a pair in PEM") from None
    token = status.get("token") or user.get("token") or ""
    if not token and user.get("tokenFile"):
        token = (file.parent / user["tokenFile"]).read_text(encoding="utf-8").strip()
    return tls, token


def _trust(cluster: Mapping[str, Any], file: Path) -> ssl.SSLContext:
    """Whom to believe: the cluster's own authority and nobody else, or those of the system where it names none."""
    if cluster.get("insecure-skip-tls-verify"):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        return tls
    if authority := _material(cluster, "certificate-authority", file):
        try:
            return ssl.create_default_context(cadata=authority.decode())
        except (ValueError, ssl.SSLError):
            raise ValueError("certificate-authority is not a certificate in PEM") from None
    plain = cluster["server"].startswith("http://")  # then it is not used, and reading the system's takes its time
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else ssl.create_default_context()


def _material(entry: Mapping[str, Any], key: str, file: Path) -> bytes:
    """``<key>-data`` in base64, or the file named by ``<key>``, relative to the kubeconfig."""
    if data := entry.get(f"{key}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except (ValueError, TypeError):
            raise ValueError(f"{key}-data is not base64") from None
    return (file.parent / str(entry[key])).read_bytes() if entry.get(key) else b""


def _exec(plugin: Mapping[str, Any], cluster: Mapping[str, Any], file: Path) -> Mapping[str, Any]:
    """Run a credential plugin (client.authentication.k8s.io ExecCredential) and return its status."""
    version = plugin.get("apiVersion", "client.authentication.k8s.io/v1")
    info: dict[str, Any] = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    if plugin.get("provideClusterInfo"):
        info["spec"]["cluster"] = {"server": cluster["server"]}
    environment = {**os.environ, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    environment.update({str(each["name"]): str(each["value"]) for each in plugin.get("env") or []})
    name = str(plugin.get("command", ""))
    program = str(file.parent / name) if "/" in name else name  # as kubectl: a path is relative to the kubeconfig
    command = [program, *map(str, plugin.get("args") or [])]
    try:
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_EXEC_TIMEOUT_S, check=False)
    except FileNotFoundError:
        hint = " ".join(str(plugin.get("installHint") or "install it, or put it on PATH").split())
        raise ValueError(f"the credential plugin {name!r} is not there; {hint}") from None
    except subprocess.TimeoutExpired:
        raise ValueError(f"the credential plugin {name} gave no answer in {_EXEC_TIMEOUT_S} s; run it by hand") from None
    if ran.returncode:
        said = ran.stderr.strip()[-300:] or "it said nothing"
        raise ValueError(f"the credential plugin {name} failed with exit code {ran.returncode}: {said}")
    try:
        status = json.loads(ran.stdout)["status"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"the credential plugin {name} printed no ExecCredential with a status") from None
    return status if isinstance(status, dict) else {}


@contextlib.contextmanager
def _memory_file(content: bytes) -> Iterator[str]:
    """A path that holds ``content`` for the TLS library, in memory where the system offers it, private to this user."""
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - private file, gone at once
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(content)
        file.flush()
        yield file.name
