"""What the policy pack costs: a preview of 1,000 launch templates of 32 NICs with it, over the same without (goal 1.1)."""

import time
from collections.abc import Callable
from pathlib import Path

from tools.bench_timing import Measured, checked
from tools.engine import Engine, make_project
from tools.folders import REPOSITORY
from tools.standin.standin import running

TEMPLATES = 1000
PROGRAM = f'''"""Launch templates as a p5 has them."""
from pulumi_aws import ec2

network = ec2.Vpc("net", cidr_block="10.0.0.0/16")
group = ec2.SecurityGroup("fabric", vpc_id=network.id)
everything = {{"protocol": "-1", "from_port": 0, "to_port": 0, "self": True, "security_group_id": group.id}}
for direction in ("ingress", "egress"):
    ec2.SecurityGroupRule(direction, type=direction, **everything)
cards = [(0, 0, "interface"), (0, 1, "efa-only"), *((card, 0, "efa-only") for card in range(1, 32))]
for number in range({TEMPLATES}):
    ec2.LaunchTemplate(
        f"t{{number}}",
        instance_type="p5.48xlarge",
        network_interfaces=[
            {{"network_card_index": card, "device_index": device, "interface_type": kind, "security_groups": [group.id]}}
            for card, device, kind in cards
        ],
        metadata_options={{"http_tokens": "required"}},
        block_device_mappings=[{{"device_name": "/dev/xvda", "ebs": {{"encrypted": "true"}}}}],
    )
'''


def measure(scratch: Path) -> list[Measured]:
    """One row."""
    folder = scratch / "policy"
    program = folder / "program"
    program.mkdir(parents=True)
    (program / "__main__.py").write_text(PROGRAM, encoding="utf-8")
    with running(folder / "cloud.sqlite", "aws") as cloud:
        engine = Engine(folder / "state", None, make_project(folder / "project", program), cloud.environment)
        engine.select("policy")
        # The usual display redraws all rows for each of them: it costs more than the rest.
        preview = ("preview", "--json", "--stack", "policy")
        # Once each: the engine alone takes minutes for so many interfaces, and the pack seconds.
        bare = _seconds(lambda: checked(engine.run(*preview)))
        guarded = _seconds(lambda: checked(engine.run(*preview, "--policy-pack", str(REPOSITORY / "policies"))))
    return [
        ("policy pack", guarded, bare, f"the same preview without it, {TEMPLATES:,} launch templates of 32 NICs (goal 1.1)")
    ]


def _seconds(run: Callable[[], None]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
