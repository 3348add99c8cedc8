"""A node: containerd, kubelet and kube-proxy on a machine, and the images it holds."""

import json
from pathlib import Path

from tools.localcluster import cgroups
from tools.localcluster.daemon import Daemon
from tools.localcluster.machine import Machine
from tools.localcluster.pki import Pki

CNI_PROGRAMS = "/usr/lib/cni"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"

# restrict_oom_score_adj: root here may lack CAP_SYS_RESOURCE, and then no container would start.
CONTAINERD_CONFIG = """\
version = 2
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
  enable_unprivileged_icmp = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_programs}"
    conf_dir = "{cni_config}"
"""


def containerd(machine: Machine, pause_reference: str, pod_subnet: str) -> Daemon:
    """With a plain bridge per node for its pods; the routes between nodes are the cluster's business."""
    config, network = machine.folder / "containerd.toml", machine.folder / "net.d" / "10-gpufabric.conflist"
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": pod_subnet}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    port_map = {"type": "portmap", "capabilities": {"portMappings": True}}
    return Daemon(
        "containerd",
        machine,
        ("containerd", "--config", str(config)),
        {
            config: CONTAINERD_CONFIG.format(pause=pause_reference, cni_programs=CNI_PROGRAMS, cni_config=network.parent),
            network: json.dumps({"cniVersion": "0.4.0", "name": "gpufabric", "plugins": [bridge, port_map]}, indent=1),
        },
    )


def kubelet(machine: Machine, program: Path, pki: Pki, context: str, *, dns_ip: str, labels: dict[str, str]) -> Daemon:
    """Its lease and status intervals fit the control plane's patience (control_plane.NODE_GRACE_SECONDS)."""
    config, kubeconfig = machine.folder / "kubelet.json", pki.folder / f"{machine.name}.kubeconfig"
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": machine.ip,
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(pki.ca)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(pki.certificate(machine.name)),
        "tlsPrivateKeyFile": str(pki.key(machine.name)),
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",  # the default lies in /usr of the host
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroups.root(machine.addresses.tag, machine.name),
        "enforceNodeAllocatable": [],
        "failCgroupV1": False,
        "failSwapOn": False,
        # The disk and the memory are the host's: a full host must not start evictions here.
        "localStorageCapacityIsolation": False,
        "evictionHard": {"memory.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "clusterDNS": [dns_ip],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "serializeImagePulls": False,
        "syncFrequency": "10s",
        "nodeStatusUpdateFrequency": "2s",
        "nodeLeaseDurationSeconds": 8,  # renewed at a quarter of it
    }
    given = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return Daemon(
        "kubelet",
        machine,
        (
            str(program),
            f"--config={config}",
            f"--kubeconfig={kubeconfig}",
            f"--hostname-override={machine.name}",
            f"--node-ip={machine.ip}",
            f"--node-labels={given}",
        ),
        {config: json.dumps(settings, indent=1), kubeconfig: pki.kubeconfig(machine.name, context)},
    )


def kube_proxy(machine: Machine, program: Path, pki: Pki, context: str, pod_range: str) -> Daemon:
    """nftables mode. Connection tracking limits are left alone: outside the first network namespace they are read-only."""
    config, kubeconfig = machine.folder / "kube-proxy.json", machine.folder / "kube-proxy.kubeconfig"
    settings = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "hostnameOverride": machine.name,
        "clusterCIDR": pod_range,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }
    return Daemon(
        "kube-proxy",
        machine,
        (str(program), f"--config={config}"),
        {config: json.dumps(settings, indent=1), kubeconfig: pki.kubeconfig("kube-proxy", context)},
    )


def ensure_certificate(pki: Pki, machine: Machine) -> None:
    """The kubelet's identity, for its calls to the API server and for the API server's calls to it (logs, exec)."""
    names = (f"IP:{machine.ip}", f"DNS:{machine.name}")
    pki.ensure(machine.name, f"system:node:{machine.name}", organization="system:nodes", alternative_names=names)


def containerd_answers(machine: Machine) -> bool:
    """Is containerd up?"""
    return machine.succeeds("ctr", "version")


def import_archive(machine: Machine, archive: Path) -> None:
    """Import one more image."""
    machine.run("ctr", "--namespace", "k8s.io", "images", "import", str(archive))
