"""Names of what is created in the cluster. Fixed here, so that a profile can refer to them and a killed `up` finds its own."""

import hashlib
import re
from dataclasses import dataclass

_STACK_LETTERS = 24  # "gpufabric-" + 24 + "--" + 20 of the group stays below the 63 of a DNS label
_LABEL_LETTERS = 63


def stack_slug(stack: str) -> str:
    """A Pulumi stack name as part of a DNS label. What does not fit is shortened and told apart by a hash of the whole."""
    plain = re.sub(r"[^a-z0-9]+", "-", stack.lower()).strip("-")
    return plain if plain == stack and len(plain) <= _STACK_LETTERS else _cut(plain, stack, _STACK_LETTERS)


def dns_label(name: str) -> str:
    """A name of ``a-z``, ``0-9`` and ``-`` in at most 63 letters: a longer one is cut and told apart by a hash of the whole."""
    return name if len(name) <= _LABEL_LETTERS else _cut(name, name, _LABEL_LETTERS)


def mount_name(mount: str, stack: str) -> str:
    """Of a mount's namespace and guard, or its claim: unique in the cluster. Its folder on a node has ``mount`` alone."""
    return dns_label(f"gpufabric-{stack_slug(stack)}-mount-{mount}")


def _cut(plain: str, whole: str, most: int) -> str:
    digest = hashlib.sha256(whole.encode()).hexdigest()[:6]
    return f"{plain[: most - 7].rstrip('-')}-{digest}".lstrip("-")


@dataclass(frozen=True, slots=True)
class GateNames:
    """Everything the gate of one node group creates, by name."""

    namespace: str
    group: str
    cluster_role: str
    """Also of its binding: both are cluster-scoped, so the name holds stack and group, whatever the namespace."""

    @property
    def account(self) -> str:
        """Service account, roles and network policy; the coordinator's Job adds a hash of what it validates."""
        return f"{self.group}-gate"

    @property
    def controller(self) -> str:
        """The controller's Deployment, service account, roles, Lease and network policy."""
        return f"{self.group}-controller"

    @property
    def node_policy(self) -> str:
        """The admission policy for nodes, cluster-scoped, and its binding."""
        return f"{self.cluster_role}-nodes"

    @property
    def controller_cluster_role(self) -> str:
        """The controller's ClusterRole, its binding, its PriorityClass, and the Role for events in ``default``."""
        return f"{self.cluster_role}-controller"

    @property
    def programs(self) -> str:
        """ConfigMap with the programs of ``gpufabric.validation``."""
        return f"{self.group}-programs"

    @property
    def plan(self) -> str:
        """ConfigMap with ``gate.json``."""
        return f"{self.group}-plan"

    @property
    def ranks(self) -> str:
        """Rank Job and headless Service: pod names become ``<ranks>-<index>.<ranks>``."""
        return f"{self.group}-ranks"

    @property
    def verdict(self) -> str:
        return f"{self.group}-verdict"


def gate_names(stack: str, group: str, namespace: str | None = None) -> GateNames:
    """Names for one group of one stack: a namespace of its own (unless one is given) keeps permissions and clean-up simple.

    Stack ``a`` with group ``b-c`` and stack ``a-b`` with group ``c`` must not meet: where a hyphen is in either, two divide
    them, which no slug contains.
    """
    slug = stack_slug(stack)
    own = f"gpufabric-{slug}{'--' if '-' in slug + group else '-'}{group}"
    return GateNames(namespace=namespace or own, group=group, cluster_role=own)
