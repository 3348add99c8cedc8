"""From a kubeconfig to a connection: what works as with kubectl, and what is said where it does not."""

import base64
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufabric.preflight import KubeconfigError, connect
from gpufabric.preflight import kubeconfig as module
from gpufabric.preflight.kubeconfig import kubeconfig_path
from gpufabric.validation.api import ApiError
from tests.preflight.cluster import FakeCluster, kubeconfig

SERVER = "https://10.0.0.1:6443"


def refused(file: Path, context: str | None = None) -> str:
    """What is said about a kubeconfig; the file itself is called FILE, its folder DIR."""
    with pytest.raises(KubeconfigError) as caught:
        connect(str(file), context)
    return str(caught.value).replace(str(file), "FILE").replace(str(file.parent), "DIR")


def bearer(cluster: FakeCluster, file: Path) -> str | None:
    """The credentials that reach the server."""
    connect(str(file), None).get("/version")
    return cluster.asked[-1][2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config"


def test_the_file_is_the_given_one_or_kubectls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert kubeconfig_path(None) == tmp_path / ".kube" / "config"
    assert kubeconfig_path("~/mine") == tmp_path / "mine"
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["/one", "/two"]))
    assert kubeconfig_path(None) == Path("/one")
    assert kubeconfig_path("/mine") == Path("/mine")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "FILE: malformed YAML: while parsing a flow node expected the node content, but found '<stream end>' in"),
        ("", "FILE: not a kubeconfig: no mapping of keys"),
        ("- a", "FILE: not a kubeconfig: no mapping of keys"),
        ("apiVersion: v1", "FILE: no current-context; name one under cluster.existing.context"),
        ("current-context: x", "FILE: no context 'x'; there are: none"),
        ("{current-context: x, contexts: {}}", "FILE: no context 'x'; there are: none"),
        ("{current-context: x, contexts: [a, {name: y}]}", "FILE: no context 'x'; there are: y"),
        ("{current-context: x, contexts: [{name: x}]}", "FILE: no cluster None; there are: none"),
        ("{current-context: x, contexts: [{name: x, context: 3}]}", "FILE: context 'x' is not a mapping of keys"),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: k}}], clusters: [{name: k}]}",
            "FILE: cluster k names no server (https://...)",
        ),
        (
            (
                "{current-context: x, contexts: [{name: x, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: "
                "{server: 'https://s'}}], users: [{name: v}]}"
            ),
            "FILE: no user 'u'; there are: v",
        ),
    ],
)
def test_a_file_that_is_no_kubeconfig(file: Path, text: str, says: str) -> None:
    file.write_text(text)
    assert refused(file).startswith(says)
    assert says.endswith(" in") or refused(file) == says


def test_a_missing_file(file: Path) -> None:
    assert refused(file) == "FILE: No such file or directory; set KUBECONFIG or cluster.existing.kubeconfig"


def test_a_binary_file(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    assert refused(file) == "FILE: not text, so not a kubeconfig"


def test_an_unknown_context(file: Path) -> None:
    assert refused(kubeconfig(file, SERVER), "prod") == "FILE: no context 'prod'; there are: c"


def test_another_context_than_the_current_one(cluster: FakeCluster, file: Path) -> None:
    config = yaml.safe_load(kubeconfig(file, cluster.url).read_text())
    config["current-context"] = "gone"
    file.write_text(yaml.safe_dump(config))
    assert connect(str(file), "c").get("/version")["minor"] == "34"


def test_no_user_is_nobody(cluster: FakeCluster, file: Path) -> None:
    config = yaml.safe_load(kubeconfig(file, cluster.url).read_text())
    del config["contexts"][0]["context"]["user"]
    file.write_text(yaml.safe_dump(config))
    assert bearer(cluster, file) is None


def test_a_token(cluster: FakeCluster, file: Path) -> None:
    assert bearer(cluster, kubeconfig(file, cluster.url, user={"token": "t0"})) == "Bearer t0"


def test_a_token_file_lies_beside_the_kubeconfig(cluster: FakeCluster, file: Path) -> None:
    (file.parent / "token").write_text("t1\n")
    assert bearer(cluster, kubeconfig(file, cluster.url, user={"tokenFile": "token"})) == "Bearer t1"
    assert bearer(cluster, kubeconfig(file, cluster.url, user={"tokenFile": str(file.parent / "token")})) == "Bearer t1"


def test_a_missing_token_file(file: Path) -> None:
    assert refused(kubeconfig(file, SERVER, user={"tokenFile": "token"})) == (
        "FILE: context c: DIR/token: No such file or directory"
    )


def plugin(folder: Path, body: str) -> Path:
    program = folder / "login"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return program


def credential(**status: str) -> str:
    return json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})


def test_a_plugin_gives_the_token(cluster: FakeCluster, file: Path) -> None:
    body = f"""printf '%s' "$KUBERNETES_EXEC_INFO" > {file.parent}/info
printf '{{"status": {{"token": "%s-%s"}}}}' "$WHO" "$1" """
    program = plugin(file.parent, body)
    exec_ = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": str(program),
        "args": ["cluster-7"],
        "env": [{"name": "WHO", "value": "me"}],
        "provideClusterInfo": True,
    }
    assert bearer(cluster, kubeconfig(file, cluster.url, user={"exec": exec_})) == "Bearer me-cluster-7"
    assert json.loads((file.parent / "info").read_text()) == {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": cluster.url}},
    }


@pytest.mark.parametrize("command", ["./login", "login"])
def test_a_plugin_beside_the_kubeconfig_or_on_path(
    cluster: FakeCluster, file: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    plugin(file.parent, f"echo '{credential(token='t2')}'")
    if command == "login":
        monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")
    assert bearer(cluster, kubeconfig(file, cluster.url, user={"exec": {"command": command, "env": None}})) == "Bearer t2"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("echo 'no login, run acme login' >&2; exit 3", "failed with exit code 3: no login, run acme login"),
        ("exit 1", "failed with exit code 1: it said nothing"),
        ("echo hello", "printed no ExecCredential with a status"),
        ("echo '[1]'", "printed no ExecCredential with a status"),
        ('echo \'{"kind": "ExecCredential"}\'', "printed no ExecCredential with a status"),
    ],
)
def test_a_plugin_that_fails(file: Path, body: str, says: str) -> None:
    program = plugin(file.parent, body)
    user = {"exec": {"command": str(program)}}
    assert refused(kubeconfig(file, SERVER, user=user)) == f"FILE: context c: the credential plugin DIR/login {says}"


def test_a_plugin_that_is_not_installed(file: Path) -> None:
    user: dict[str, Any] = {"exec": {"command": "acme-login-that-is-not-there"}}
    assert refused(kubeconfig(file, SERVER, user=user)) == (
        "FILE: context c: the credential plugin 'acme-login-that-is-not-there' is not there; install it, or put it on PATH"
    )
    user["exec"]["installHint"] = "Install it:\n  apt-get install acme\n"
    assert refused(kubeconfig(file, SERVER, user=user)).endswith("is not there; Install it: apt-get install acme")


def test_a_plugin_that_may_not_run(file: Path) -> None:
    program = plugin(file.parent, "exit 0")
    program.chmod(0o644)
    user = {"exec": {"command": str(program)}}
    assert refused(kubeconfig(file, SERVER, user=user)) == "FILE: context c: DIR/login: Permission denied"


def test_a_plugin_that_hangs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EXEC_TIMEOUT_S", 0.1)
    program = plugin(file.parent, "exec sleep 60")
    assert refused(kubeconfig(file, SERVER, user={"exec": {"command": str(program)}})) == (
        "FILE: context c: the credential plugin DIR/login gave no answer in 0.1 s; run it by hand"
    )


@pytest.mark.parametrize(
    ("cluster", "user", "says"),
    [
        ({"certificate-authority-data": "***"}, {}, "certificate-authority-data is not base64"),
        ({"certificate-authority-data": "aGVsbG8="}, {}, "certificate-authority is not a certificate in PEM"),
        ({"certificate-authority-data": "/w=="}, {}, "certificate-authority is not a certificate in PEM"),
        ({"certificate-authority": "ca.crt"}, {}, "DIR/ca.crt: No such file or directory"),
        (
            {},
            {"client-certificate-data": "aGVsbG8=", "client-key-data": "aGVsbG8="},
            "client-certificate and client-key are not a pair in PEM",
        ),
        ({}, {"client-certificate": "me.crt"}, "DIR/me.crt: No such file or directory"),
    ],
)
def test_certificates_that_are_none(file: Path, cluster: dict[str, Any], user: dict[str, Any], says: str) -> None:
    assert refused(kubeconfig(file, SERVER, cluster=cluster, user=user)) == f"FILE: context c: {says}"


@dataclass(frozen=True)
class Keys:
    """A throwaway authority, and a server and a client that it vouches for; PEM files in a folder."""

    folder: Path

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def data(self, name: str) -> str:
        return base64.b64encode((self.folder / name).read_bytes()).decode()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("keys")

    def openssl(*args: str) -> None:
        subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    for name in ("ca", "other"):
        openssl("req", "-x509", *key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")
    for name in ("server", "me"):
        signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1"]
        openssl("req", "-x509", *key, *signed, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")
    return Keys(folder)


@pytest.fixture
def guarded(keys: Keys) -> Iterator[FakeCluster]:
    """A server that wants a certificate of its own authority."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(keys.path("server.crt"), keys.path("server.key"))
    tls.load_verify_locations(keys.path("ca.crt"))
    tls.verify_mode = ssl.CERT_REQUIRED
    found = FakeCluster(tls)
    yield found
    found.close()


def test_a_client_certificate_as_data_or_as_file(keys: Keys, guarded: FakeCluster, file: Path) -> None:
    as_data = kubeconfig(
        file,
        guarded.url,
        cluster={"certificate-authority-data": keys.data("ca.crt")},
        user={"client-certificate-data": keys.data("me.crt"), "client-key-data": keys.data("me.key")},
    )
    assert connect(str(as_data), None).get("/version")["minor"] == "34"
    for name in ("ca.crt", "me.crt", "me.key"):
        shutil.copy(keys.path(name), file.parent / name)
    as_file = kubeconfig(
        file,
        guarded.url,
        cluster={"certificate-authority": "ca.crt"},
        user={"client-certificate": "me.crt", "client-key": "me.key"},
    )
    assert connect(str(as_file), None).get("/version")["minor"] == "34"


def test_a_client_certificate_of_a_plugin(keys: Keys, guarded: FakeCluster, file: Path) -> None:
    status = {
        "clientCertificateData": Path(keys.path("me.crt")).read_text(),
        "clientKeyData": Path(keys.path("me.key")).read_text(),
    }
    (file.parent / "answer").write_text(credential(**status))
    program = plugin(file.parent, f"cat {file.parent}/answer")
    with_plugin = kubeconfig(
        file,
        guarded.url,
        cluster={"insecure-skip-tls-verify": True},
        user={"exec": {"command": str(program)}},
    )
    assert connect(str(with_plugin), None).get("/version")["minor"] == "34"


def test_a_server_of_another_authority_is_not_believed(keys: Keys, guarded: FakeCluster, file: Path) -> None:
    other = {"certificate-authority-data": keys.data("other.crt")}
    user = {"client-certificate-data": keys.data("me.crt"), "client-key-data": keys.data("me.key")}
    api = connect(str(kubeconfig(file, guarded.url, cluster=other, user=user)), None)
    api.sleep = lambda _: None
    with pytest.raises(ApiError, match="certificate verify failed"):
        api.get("/version")
    assert guarded.asked == []


def test_the_clusters_authority_is_the_only_one(keys: Keys, file: Path) -> None:
    """As with kubectl: a certificate of a public authority does not pass for the cluster's."""
    kubeconfig(file, SERVER, cluster={"certificate-authority-data": keys.data("ca.crt")})
    tls = module._trust({"server": SERVER, "certificate-authority-data": keys.data("ca.crt")}, file)
    assert [dict(pair[0] for pair in each["subject"])["commonName"] for each in tls.get_ca_certs()] == ["ca"]  # type: ignore[misc]


def test_a_key_of_another_pair(keys: Keys, file: Path) -> None:
    user = {"client-certificate-data": keys.data("me.crt"), "client-key-data": keys.data("server.key")}
    assert refused(kubeconfig(file, SERVER, user=user)) == (
        "FILE: context c: client-certificate and client-key are not a pair in PEM"
    )


def test_a_private_key_is_on_no_disk_afterwards(keys: Keys, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    load = ssl.SSLContext.load_cert_chain

    def note(tls: ssl.SSLContext, certificate: str, key: str) -> None:
        assert Path(key).stat().st_mode & 0o077 == 0, "readable by others"
        seen.append(key)
        load(tls, certificate, key)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", note)
    user = {"client-certificate-data": keys.data("me.crt"), "client-key-data": keys.data("me.key")}
    connect(str(kubeconfig(file, SERVER, user=user)), None)
    (path,) = seen
    assert not Path(path).exists()
