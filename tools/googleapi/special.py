"""Methods that do more, or something else, than their names say."""

from collections.abc import Mapping

from tools.googleapi.forms import RefusalError
from tools.googleapi.gke import GKE
from tools.googleapi.store import Body, Ledger
from tools.googleapi.things import completed, merged
from tools.googleapi.turn import Done, Handler, Turn
from tools.judge.google.model import GoogleCall
from tools.judge.google.references import made_by, nested, path_of


def _policy_of(call: GoogleCall) -> str:
    """Where a thing's IAM policy lies."""
    path = path_of(call).removesuffix("/iam")
    return f"{path}/iamPolicies/policy"


def get_policy(turn: Turn) -> Done:
    """Who may do what with a thing."""
    path = _policy_of(turn.call)
    found = turn.ledger.find(path)
    return path, found.body if found else {"version": 1, "etag": "BwYAAAAAAAA=", "bindings": []}


def set_policy(turn: Turn) -> Done:
    """In the body's ``policy``, or, for buckets, the body itself. One that binds nobody is as good as none."""
    path = _policy_of(turn.call)
    policy = {"version": 1, "etag": "BwYAAAAAAAA=", **turn.body.get("policy", turn.body)}
    turn.ledger.put(turn.call.service, path, policy) if policy.get("bindings") else turn.ledger.remove(path)
    return path, policy


def get_project(turn: Turn) -> Done:
    """The only one there is."""
    if turn.call.members["projectId"] != turn.account.project:
        raise RefusalError(403, f"Permission denied on project {turn.call.members['projectId']}", "forbidden")
    told = {
        "projectId": turn.account.project,
        "projectNumber": turn.account.number,
        "lifecycleState": "ACTIVE",
        "name": turn.account.project,
    }
    return turn.path, told


def create_service_account(turn: Turn) -> Done:
    """It gets its address from the id that was asked for."""
    (path,) = made_by(turn.call)
    if turn.ledger.find(path):
        raise RefusalError(409, f"Service account {path} already exists.")
    made = turn.ledger.put(turn.call.service, path, {})
    body = completed(turn.call.service, path, dict(turn.body.get("serviceAccount", {})), number=made.number)
    return path, turn.ledger.put(turn.call.service, path, body).body


def change_service_account(turn: Turn) -> Done:
    """The members that the mask names."""
    path = turn.path
    return path, turn.ledger.put(turn.call.service, path, merged(turn.thing.body, turn.body["serviceAccount"])).body


def get_compute_project(turn: Turn) -> Done:
    """The same one, as Compute Engine knows it; with its quotas, where it was given some."""
    name = turn.call.members["project"]
    if name != turn.account.project:
        raise RefusalError(404, f"The resource 'projects/{name}' was not found", "notFound")
    held = turn.ledger.find(turn.path)
    told = {"kind": "compute#project", "name": turn.account.project, "id": turn.account.number}
    return turn.path, {**(held.body if held else {}), **told}


def set_labels(turn: Turn) -> Done:
    """Compute Engine's way to change labels."""
    path = turn.path.removesuffix("/setLabels")
    found = turn.ledger.find(path)
    assert found is not None  # noqa: S101 - looked for before
    body = {**found.body, "labels": turn.body["labels"]}
    turn.ledger.put(turn.call.service, path, completed(turn.call.service, path, body, number=found.number))
    return path, None


def get_service(turn: Turn) -> Done:
    """One API."""
    name = str(turn.call.members["name"])
    return name, _service(turn, name)


def get_services(turn: Turn) -> Done:
    """Several of them. Google answers with the project's number."""
    found = [_service(turn, name) for name in turn.call.members["names"]]
    mine, theirs = f"projects/{turn.account.project}/", f"projects/{turn.account.number}/"
    services = [{**each, "name": each["name"].replace(mine, theirs)} for each in found]
    return str(turn.call.members["parent"]), {"services": services}


def _service(turn: Turn, name: str) -> Body:
    state = "DISABLED" if is_off(turn.ledger, name) else "ENABLED"
    return {"name": name, "parent": name.rpartition("/services/")[0], "state": state}


def is_off(ledger: Ledger, service: str) -> bool:
    """Every API is on that is not held as one that is off."""
    held = ledger.find(service)
    return held is not None and held.body.get("state") == "DISABLED"


def list_services(turn: Turn) -> Done:
    """Those that a program may switch on."""
    parent = str(turn.call.members["parent"])
    names = ("compute", "container", "file", "iam", "lustre", "servicenetworking", "storage")
    found = [{"name": f"{parent}/services/{name}.googleapis.com", "parent": parent, "state": "ENABLED"} for name in names]
    return parent, {"services": found}


def enable_services(turn: Turn) -> Done:
    """They are."""
    return f"{turn.call.members.get('parent') or turn.call.members['name']}", {}


def _policy(turn: Turn) -> tuple[str, Body]:
    """A firewall policy, with its parts."""
    path = list(nested(turn.path))[-1]
    found = turn.ledger.find(path)
    assert found is not None  # noqa: S101 - looked for before
    return path, found.body


def add_to(part: str) -> Handler:
    """Add a rule or an association to a firewall policy."""

    def handle(turn: Turn) -> Done:
        path, policy = _policy(turn)
        key = _key(part)
        if any(each[key] == turn.body[key] for each in policy.get(part, ())):
            raise RefusalError(400, f"{path} has {turn.body[key]} already", "alreadyExists")
        turn.ledger.put(turn.call.service, path, {**policy, part: [*policy.get(part, ()), dict(turn.body)]})
        if part == "associations":
            turn.ledger.put(turn.call.service, f"{path}/associations/{turn.body['name']}", dict(turn.body))
            turn.account.note_names(turn.ledger, f"{path}/associations/{turn.body['name']}", turn.call)
        return path, None

    return handle


def get_from(part: str) -> Handler:
    """One rule or association."""

    def handle(turn: Turn) -> Done:
        path, policy = _policy(turn)
        wanted = turn.call.members[_key(part)]
        for each in policy.get(part, ()):
            if str(each[_key(part)]) == str(wanted):
                return path, {**each, "firewallPolicyId": policy["id"]} if part == "associations" else each
        raise RefusalError(404 if part == "associations" else 400, f"{path} has no {wanted}", "notFound")

    return handle


def remove_from(part: str) -> Handler:
    """Take one away."""

    def handle(turn: Turn) -> Done:
        path, policy = _policy(turn)
        wanted = str(turn.call.members[_key(part)])
        turn.ledger.put(
            turn.call.service, path, {**policy, part: [each for each in policy[part] if str(each[_key(part)]) != wanted]}
        )
        if part == "associations":
            turn.ledger.remove(f"{path}/associations/{wanted}")
        return path, None

    return handle


def _key(part: str) -> str:
    return "name" if part == "associations" else "priority"


def create_connection(turn: Turn) -> Done:
    """A peering of a network with Google's services; it keeps its network and ranges in use."""
    network = str(turn.body["network"])
    path = f"{network}/connections/servicenetworking"
    if turn.ledger.find(path):
        raise RefusalError(409, f"{network} is connected already")
    whole = {**turn.body, "peering": "servicenetworking-googleapis-com", "service": "services/servicenetworking.googleapis.com"}
    turn.ledger.put(turn.call.service, path, whole)
    turn.account.note_names(turn.ledger, path, turn.call)
    return path, None


def list_connections(turn: Turn) -> Done:
    """Of one network, which this API calls by the project's number."""
    network = str(turn.call.members["network"])
    path = f"{network}/connections/servicenetworking"
    found = turn.ledger.find(path)
    named = network.replace(f"projects/{turn.account.project}/", f"projects/{turn.account.number}/")
    return path, {"connections": [{**found.body, "network": named}]} if found else {}


def delete_connection(turn: Turn) -> Done:
    """By its network."""
    path = f"{turn.body['consumerNetwork']}/connections/servicenetworking"
    turn.ledger.remove(path)
    return path, None


def in_every_scope(turn: Turn) -> Done:
    """Compute Engine's lists over all zones and regions, by an exact name where one is asked for."""
    parent, _, collection = turn.path.partition("/aggregated/")
    wanted = str(turn.call.members.get("filter", "")).removeprefix("name=").strip('"')
    scopes: dict[str, Body] = {}
    for each in turn.ledger.below(f"{parent}/"):
        *scope, found, name = each.path.removeprefix(f"{parent}/").split("/")
        if found == collection and wanted in ("", name):
            scopes.setdefault("/".join(scope), {collection: []})[collection].append(each.body)
    return turn.path, {"items": scopes}


def nothing_in_it(turn: Turn) -> Done:
    """No program puts anything into a bucket."""
    return turn.path, {}


_PARTS = {"addRule": (add_to, "rules"), "getRule": (get_from, "rules"), "removeRule": (remove_from, "rules")}
_PARTS |= {
    f"{verb}Association": (how, "associations") for verb, how in (("add", add_to), ("get", get_from), ("remove", remove_from))
}

_LABELLED = ("addresses", "firewalls", "globalAddresses", "reservations")

SPECIAL: Mapping[str, Handler] = {
    **GKE,
    "compute projects.get": get_compute_project,
    **{f"compute {collection}.setLabels": set_labels for collection in _LABELLED},
    **{f"compute {collection}.aggregatedList": in_every_scope for collection in ("machineTypes", "reservations")},
    "cloudresourcemanager projects.get": get_project,
    "cloudresourcemanager projects.getIamPolicy": get_policy,
    "cloudresourcemanager projects.setIamPolicy": set_policy,
    "iam projects.serviceAccounts.create": create_service_account,
    "iam projects.serviceAccounts.patch": change_service_account,
    "iam projects.serviceAccounts.getIamPolicy": get_policy,
    "iam projects.serviceAccounts.setIamPolicy": set_policy,
    "servicenetworking services.connections.create": create_connection,
    "servicenetworking services.connections.list": list_connections,
    "servicenetworking services.connections.deleteConnection": delete_connection,
    "serviceusage services.batchEnable": enable_services,
    "serviceusage services.batchGet": get_services,
    "serviceusage services.enable": enable_services,
    "serviceusage services.get": get_service,
    "serviceusage services.list": list_services,
    "storage buckets.getIamPolicy": get_policy,
    "storage buckets.setIamPolicy": set_policy,
    "storage anywhereCaches.list": nothing_in_it,
    "storage objects.list": nothing_in_it,
    **{f"compute regionNetworkFirewallPolicies.{verb}": how(part) for verb, (how, part) in _PARTS.items()},
}
