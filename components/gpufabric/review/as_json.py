"""The report as JSON, for programs."""

import json
from dataclasses import asdict
from typing import Any

from gpufabric.review.model import OPS, Review


def as_json(review: Review) -> str:
    """All of it; keys are the model's, and sums beside them."""
    (before, unknown_before), (after, unknown_after) = review.usd_per_hour("before"), review.usd_per_hour("after")
    sums: dict[str, Any] = {
        "counts": {op: review.counts[op] for op in OPS},
        "gpus": {"before": review.gpus("before"), "after": review.gpus("after")} if review.groups_known else None,
        "usd_per_hour": {
            "before": round(before, 2),
            "after": round(after, 2),
            "no_price": sorted({*unknown_before, *unknown_after}),
        }
        if review.groups_known
        else None,
        "mandatory": sum(1 for each in review.violations if each.level == "mandatory"),
        "not_checked": len(review.not_checked),
    }
    return json.dumps({**asdict(review), **sums}, indent=2, ensure_ascii=False) + "\n"
