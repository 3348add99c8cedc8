"""The machine `cp`: etcd, API server, controller manager, scheduler and cluster DNS as plain processes."""

import ipaddress
import socket
import struct
from pathlib import Path

from tools.localcluster.addresses import API_SERVICE_IP, SERVICE_RANGE
from tools.localcluster.daemon import Daemon
from tools.localcluster.machine import Machine
from tools.localcluster.pki import Pki

NAME = "cp"
API_PORT = 6443
# Tests wait for a dead node to be noticed; Kubernetes' own 50 s would be most of their time. Nodes renew their lease every 2 s.
NODE_GRACE_SECONDS = 10


def ensure_certificates(pki: Pki, ip: str, cluster: str) -> None:
    """CA and every role of the control plane."""
    pki.ensure_ca(f"gpufabric-{cluster}")
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost")
    addresses = tuple(f"IP:{address}" for address in (ip, API_SERVICE_IP, "127.0.0.1"))
    pki.ensure("apiserver", "kube-apiserver", alternative_names=(*addresses, *(f"DNS:{name}" for name in names)))
    pki.ensure("admin", "admin", organization="system:masters")
    pki.ensure("kubelet-client", "apiserver-kubelet-client", organization="system:masters")
    pki.ensure("controller-manager", "system:kube-controller-manager")
    pki.ensure("scheduler", "system:kube-scheduler")
    pki.ensure("kube-proxy", "system:kube-proxy")
    pki.ensure("coredns", "coredns", organization="system:masters")


def etcd(machine: Machine, program: Path) -> Daemon:
    """On the loopback of its machine only. No fsync: the cluster does not outlive a reboot anyway."""
    client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
    return Daemon(
        "etcd",
        machine,
        (
            *(str(program), f"--data-dir={machine.folder}/disk/etcd", "--unsafe-no-fsync", "--log-level=warn"),
            *(f"--listen-client-urls={client}", f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}"),
        ),
    )


def api_server(machine: Machine, program: Path, pki: Pki) -> Daemon:
    """Admits privileged pods: mount daemons need them. Calls webhooks at their pods: no kube-proxy runs on this machine."""
    return Daemon(
        "kube-apiserver",
        machine,
        (
            str(program),
            "--etcd-servers=http://127.0.0.1:2379",
            f"--bind-address={machine.ip}",
            f"--advertise-address={machine.ip}",
            f"--secure-port={API_PORT}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--allow-privileged=true",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--enable-aggregator-routing=true",
            f"--client-ca-file={pki.ca}",
            f"--tls-cert-file={pki.certificate('apiserver')}",
            f"--tls-private-key-file={pki.key('apiserver')}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={pki.key('sa')}",
            f"--service-account-signing-key-file={pki.key('sa')}",
            f"--kubelet-client-certificate={pki.certificate('kubelet-client')}",
            f"--kubelet-client-key={pki.key('kubelet-client')}",
            f"--kubelet-certificate-authority={pki.ca}",
            "--kubelet-preferred-address-types=InternalIP",
            "--shutdown-delay-duration=0",
        ),
    )


def controller_manager(machine: Machine, program: Path, pki: Pki, context: str) -> Daemon:
    """With a short patience for dead nodes."""
    kubeconfig = pki.folder / "controller-manager.kubeconfig"
    return Daemon(
        "kube-controller-manager",
        machine,
        (
            str(program),
            f"--kubeconfig={kubeconfig}",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={pki.key('sa')}",
            f"--root-ca-file={pki.ca}",
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
            f"--node-monitor-grace-period={NODE_GRACE_SECONDS}s",
            "--node-monitor-period=1s",
            "--flex-volume-plugin-dir=/var/lib/kubelet/volume-plugins",  # the default would be made in /usr of the host
        ),
        {kubeconfig: pki.kubeconfig("controller-manager", context)},
    )


def scheduler(machine: Machine, program: Path, pki: Pki, context: str) -> Daemon:
    """The default scheduler."""
    kubeconfig = pki.folder / "scheduler.kubeconfig"
    return Daemon(
        "kube-scheduler",
        machine,
        (str(program), f"--kubeconfig={kubeconfig}", "--bind-address=127.0.0.1", "--leader-elect=false"),
        {kubeconfig: pki.kubeconfig("scheduler", context)},
    )


def coredns(machine: Machine, program: Path, pki: Pki, context: str) -> Daemon:
    """Cluster names only, nothing is forwarded. A short ttl, so that ranks find each other as soon as they have addresses."""
    kubeconfig, corefile = pki.folder / "coredns.kubeconfig", machine.folder / "Corefile"
    text = (
        f".:53 {{\n  bind {machine.ip}\n  errors\n  kubernetes cluster.local in-addr.arpa {{\n"
        f"    kubeconfig {kubeconfig} {context}\n    pods insecure\n    ttl 1\n  }}\n}}\n"
    )
    return Daemon(
        "coredns",
        machine,
        (str(program), "-conf", str(corefile)),
        {kubeconfig: pki.kubeconfig("coredns", context), corefile: text},
    )


def dns_answers(server_ip: str, name: str = "kubernetes.default.svc.cluster.local", expected: str = API_SERVICE_IP) -> bool:
    """Ask the cluster's DNS for an A record (RFC 1035, one question) and look for the address at the end of the answer."""
    question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0" + struct.pack("!HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(1.0)
        sock.sendto(struct.pack("!6H", 0x6766, 0x0100, 1, 0, 0, 0) + question, (server_ip, 53))
        return sock.recv(512).endswith(ipaddress.ip_address(expected).packed)
