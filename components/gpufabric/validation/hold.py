"""The hold's second lock: a taint that keeps pods off a node, but for those that tolerate it.

For the API server the list of taints is one value: a merge or an apply would undo what others wrote meanwhile. So it is changed
by a JSON patch that tests the list, as it was read, and the node's UID; when somebody was faster, it is read and tried again.
"""

from typing import Any, Final

from gpufabric.validation import contract
from gpufabric.validation.api import Api, ApiError, Json, path

_ATTEMPTS: Final = 6
_PAUSE_SECONDS: Final = 0.2
_LOST: Final = (409, 422)
"""Somebody changed the node meanwhile; 422 is the API server's answer to a test that failed."""


def has(node: Json) -> bool:
    """Whether a Node object carries the taint, with whatever value and effect."""
    return any(taint.get("key") == contract.TAINT_HOLD for taint in (node.get("spec") or {}).get("taints") or [])


def put(api: Api, name: str, *, wanted: bool, uid: str = "") -> None:
    """Set the taint or take it away; other taints stay as they are. Raises ApiError, 409 where the node has another `uid`."""
    at = path("nodes", name)
    for attempt in range(1, _ATTEMPTS + 1):
        node = api.get(at)
        if uid and node["metadata"].get("uid") != uid:
            raise ApiError(f"PATCH {at}", 409, "Conflict", f"node {name} was replaced under its name")
        if has(node) == wanted:
            return
        try:
            api.json_patch(at, _patch(node, wanted=wanted), contract.FIELD_MANAGER)
        except ApiError as error:
            if error.status not in _LOST or attempt == _ATTEMPTS:
                raise
            api.sleep(_PAUSE_SECONDS * attempt)
        else:
            return


def _patch(node: Json, *, wanted: bool) -> list[dict[str, Any]]:
    before = (node.get("spec") or {}).get("taints")
    after = [taint for taint in before or [] if taint.get("key") != contract.TAINT_HOLD]
    after += [dict(contract.HOLD_TAINT)] if wanted else []
    where = "/spec/taints"
    return [
        {"op": "test", "path": "/metadata/uid", "value": node["metadata"].get("uid")},
        {"op": "test", "path": where, "value": before},  # of a list that is not there: null
        {"op": "add", "path": where, "value": after} if after else {"op": "remove", "path": where},
    ]
