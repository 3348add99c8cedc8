"""GKE: clusters, their node pools, and the groups of machines that Compute Engine has for these."""

from collections.abc import Mapping

from tools.googleapi.forms import RefusalError
from tools.googleapi.store import Body, Ledger
from tools.googleapi.things import base_of, completed, merged
from tools.googleapi.turn import Done, Handler, Turn
from tools.judge.google.references import named_in

_GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}


def cluster(turn: Turn) -> Done:
    """With the node pools that it has now."""
    path, found = turn.path, turn.thing
    pools = [each.body for each in turn.ledger.below(f"{path}/nodePools/")]
    return path, {**found.body, "nodePools": pools, "currentNodeCount": sum(pool.get("initialNodeCount", 0) for pool in pools)}


def create_cluster(turn: Turn) -> Done:
    """And the pools that it begins with."""
    wanted = dict(turn.body["cluster"])
    path = f"{turn.path}/{wanted['name']}"
    if turn.ledger.find(path):
        raise RefusalError(409, f"Already exists: {path}.", "alreadyExists")
    pools = wanted.pop("nodePools", None) or [{"name": "default-pool", "initialNodeCount": wanted.get("initialNodeCount", 3)}]
    made = turn.ledger.put(turn.call.service, path, wanted)
    whole = completed(turn.call.service, path, wanted, number=made.number)
    # Provider and users read these, given as full names whatever was asked for.
    named = {where.rpartition(".")[2]: name for where, name in named_in(turn.call)}
    whole["networkConfig"] |= {key: named[key] for key in ("network", "subnetwork") if key in named}
    turn.ledger.put(turn.call.service, path, whole)
    turn.account.note_names(turn.ledger, path, turn.call)
    for pool in pools:
        _make_pool(turn.ledger, path, {"config": wanted.get("nodeConfig", {}), **pool})
    return path, None


def create_pool(turn: Turn) -> Done:
    """In a cluster."""
    cluster_path = str(turn.call.members["parent"])
    path = f"{cluster_path}/nodePools/{turn.body['nodePool']['name']}"
    if turn.ledger.find(path):
        raise RefusalError(409, f"Already exists: {path}.", "alreadyExists")
    _make_pool(turn.ledger, cluster_path, dict(turn.body["nodePool"]))
    turn.account.note_names(turn.ledger, path, turn.call)
    return path, None


def _make_pool(ledger: Ledger, cluster_path: str, body: Body) -> None:
    """With a group of machines in each of its zones: how many there are is asked of Compute Engine."""
    _, project, _, location, _, cluster_name = cluster_path.split("/")
    parent = ledger.find(cluster_path)
    zones = body.get("locations") or (parent.body.get("locations") if parent else None) or [_first_zone(location)]
    groups = [f"projects/{project}/zones/{zone}/instanceGroupManagers/gke-{cluster_name}-{body['name']}-grp" for zone in zones]
    path = f"{cluster_path}/nodePools/{body['name']}"
    made = ledger.put("container", path, body)
    urls = [f"{base_of('compute', '/compute/v1/')}{group}" for group in groups]
    whole = completed("container", path, {**body, "locations": zones, "instanceGroupUrls": urls}, number=made.number)
    _mark(whole["config"])
    ledger.put("container", path, whole)
    _resize(ledger, whole)


def _mark(config: Body) -> None:
    """GKE's own labels on the machines, and its taint on those with GPUs where nobody asked for it."""
    config["resourceLabels"] = {**config.get("resourceLabels", {}), "goog-gke-node": "", "goog-gke-accelerator-type": ""}
    taints = config.setdefault("taints", [])
    if config.get("accelerators") and not any(each["key"] == _GPU_TAINT["key"] for each in taints):
        taints.append(_GPU_TAINT)


def _resize(ledger: Ledger, pool: Body) -> None:
    for url in pool["instanceGroupUrls"]:
        path = _group_of(url)
        managed = url.replace("/instanceGroupManagers/", "/instanceGroups/")
        body = {"name": path.rpartition("/")[2], "targetSize": pool.get("initialNodeCount", 0), "instanceGroup": managed}
        ledger.put("compute", path, completed("compute", path, body, number=0))


def _group_of(url: str) -> str:
    return "projects/" + url.partition("/projects/")[2]


def _remove_pool(ledger: Ledger, path: str) -> None:
    found = ledger.find(path)
    for url in found.body["instanceGroupUrls"] if found else ():
        ledger.remove(_group_of(url))
    ledger.remove(path)


def _first_zone(location: str) -> str:
    return location if location[-2] == "-" else f"{location}-a"


def change_pool(path: str) -> Handler:
    """A method that sets one part of a pool: the body's members at ``path`` (empty: at the top)."""

    def handle(turn: Turn) -> Done:
        target, found = turn.path, turn.thing
        told = {
            key: each for key, each in turn.body.items() if key not in ("name", "projectId", "zone", "clusterId", "nodePoolId")
        }
        if "nodeCount" in told:
            told["initialNodeCount"] = told.pop("nodeCount")
        change: Body = {path: told.get(path, told)} if path else told
        _resize(turn.ledger, turn.ledger.put(turn.call.service, target, merged(found.body, change)).body)
        return target, None

    return handle


def update_cluster(turn: Turn) -> Done:
    """``desiredNetworkX`` is the wish for the cluster's ``networkX``."""
    target, found = turn.path, turn.thing
    wishes = {key.removeprefix("desired"): each for key, each in turn.body["update"].items()}
    turn.ledger.put(
        turn.call.service, target, merged(found.body, {key[:1].lower() + key[1:]: each for key, each in wishes.items()})
    )
    return target, None


def delete_pool(turn: Turn) -> Done:
    """Nothing names a pool."""
    _remove_pool(turn.ledger, turn.path)
    return turn.path, None


def delete_cluster(turn: Turn) -> Done:
    """Its pools go with it."""
    path = turn.path
    for pool in turn.ledger.below(f"{path}/nodePools/"):
        _remove_pool(turn.ledger, pool.path)
    turn.ledger.remove(path)
    return path, None


GKE: Mapping[str, Handler] = {
    "container projects.locations.clusters.create": create_cluster,
    "container projects.locations.clusters.delete": delete_cluster,
    "container projects.locations.clusters.get": cluster,
    "container projects.locations.clusters.update": update_cluster,
    "container projects.locations.clusters.nodePools.create": create_pool,
    "container projects.locations.clusters.nodePools.delete": delete_pool,
    "container projects.locations.clusters.nodePools.setAutoscaling": change_pool("autoscaling"),
    "container projects.locations.clusters.nodePools.setManagement": change_pool("management"),
    "container projects.locations.clusters.nodePools.setSize": change_pool(""),
    "container projects.locations.clusters.nodePools.update": change_pool(""),
}
