"""Engine events as the Automation API hands them on, and what a pack saw before and after."""

from typing import Any

Event = dict[str, Any]
GROUP, BUCKET, LUSTRE = "aws:eks/nodeGroup:NodeGroup", "aws:s3/bucket:Bucket", "aws:fsx/lustreFileSystem:LustreFileSystem"


def urn(kind: str, name: str) -> str:
    return f"urn:pulumi:dev::train::{kind}::{name}"


def step(op: str, kind: str, name: str, **more: Any) -> Event:
    return {"resource_pre_event": {"metadata": {"op": op, "urn": urn(kind, name), "type": kind, **more}}}


def said(rule: str, text: str, *, level: str = "mandatory", pack: str = "gpufabric", name: str = "train") -> Event:
    message = f"<{{%reset%}}>{text}<{{%reset%}}>\n"
    named = {"policy_name": rule, "policy_pack_name": pack, "enforcement_level": level, "resource_urn": urn(GROUP, name)}
    return {"policy_event": {"message": message, **named}}


def diagnostic(severity: str, text: str) -> Event:
    return {"diagnostic_event": {"severity": severity, "message": text, "ephemeral": False}}


def group(name: str, nodes: int, machine: str = "p5.48xlarge", usd: float | None = 110.08) -> dict[str, Any]:
    return {
        "urn": urn(GROUP, name),
        "name": name,
        "machine": machine,
        "accelerator": "H100",
        "gpus": nodes * 8,
        "nodes": nodes,
        "least_nodes": 0,
        "way": "on_demand",
        "region": "us-east-2",
        "zones": ["us-east-2b"],
        "fabric": "32 x efa-v2, 3200 Gbit/s",
        "usd_per_hour": usd,
        "cost": "2 x p5.48xlarge on demand at 55.04" if usd else "no price is known",
    }


def facts(*groups: dict[str, Any], **unread: str) -> dict[str, Any]:
    return {"groups": list(groups), "unread": {urn(GROUP, name): why for name, why in unread.items()}}
