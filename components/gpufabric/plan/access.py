"""Who reaches a cluster's API: what each kind needs, the same on every cloud."""

from collections.abc import Sequence

from gpufabric.spec import Problem
from gpufabric.spec.cloud import ApiAccess

_WAYS = {
    "public": "{kind: public, cidrs: [your addresses]}",
    "private": "{kind: private} if you run inside the VPC",
    "dns": "{kind: dns}: from anywhere, for whom IAM lets in",
}


def access_problems(access: ApiAccess | None, kinds: Sequence[str]) -> list[Problem]:
    """What is wrong with ``api_access`` on a cloud that has these ``kinds``; there is no default."""
    if access is None:
        fix = f"write {', or '.join(_WAYS[kind] for kind in kinds)}"
        return [Problem("api_access", "missing: there is no default for who reaches the cluster's API", fix)]
    if access.kind not in kinds:
        return [Problem("api_access", "dns is Google's", "write {kind: public, cidrs: [...]} or {kind: private}")]
    if access.kind == "public" and not access.cidrs:
        reason = "public without cidrs: nobody outside could reach the API, this program neither"
        return [Problem("api_access", reason, "write cidrs: [your addresses], such as [203.0.113.7/32]")]
    if access.kind == "private" and access.cidrs:
        return [Problem("api_access", "private has no cidrs: only the VPC reaches the API", "leave cidrs out, or write public")]
    if access.kind == "dns" and access.cidrs:
        reason = "dns has no cidrs: IAM decides who gets in, not the address"
        return [Problem("api_access", reason, "leave cidrs out, or write public")]
    return []
