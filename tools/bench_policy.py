"""What the policy pack costs: its own process, over all else of the same preview of launch templates of 32 NICs (at most 0.1
for 1,000). Two previews, with and without it, differ by more than that on a machine that does other things.

Pulumi itself takes a snapshot of the whole stack after each resource, also in a preview: its work grows with the square of
their number, and at a thousand it is most of a preview. One row leaves that out, which is against the pack; so is that the
provider's own work is not counted.
"""

import subprocess
from pathlib import Path

from tools.bench_timing import Measured, checked, processor_seconds
from tools.engine import Engine, make_project
from tools.errors import ToolError
from tools.folders import REPOSITORY
from tools.standin.standin import running

TEMPLATES = (100, 300, 1000)
NO_SNAPSHOTS = {"PULUMI_EXPERIMENTAL": "true", "PULUMI_SKIP_CHECKPOINTS": "true"}
PROGRAM = '''"""Launch templates as a p5 has them."""
from pulumi_aws import ec2

network = ec2.Vpc("net", cidr_block="10.0.0.0/16")
group = ec2.SecurityGroup("fabric", vpc_id=network.id)
everything = {{"protocol": "-1", "from_port": 0, "to_port": 0, "self": True, "security_group_id": group.id}}
for direction in ("ingress", "egress"):
    ec2.SecurityGroupRule(direction, type=direction, **everything)
cards = [(0, 0, "interface"), (0, 1, "efa-only"), *((card, 0, "efa-only") for card in range(1, 32))]
for each in range({number}):
    ec2.LaunchTemplate(
        f"t{{each}}",
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
    """Processor seconds, not the clock's: the preview of a thousand takes minutes, and no machine is quiet for so long."""
    return [
        *(_row(scratch, number, "as Pulumi makes it", {}) for number in TEMPLATES),
        _row(scratch, TEMPLATES[-1], "without Pulumi's snapshots", NO_SNAPSHOTS),
    ]


def _row(scratch: Path, number: int, how: str, more: dict[str, str]) -> Measured:
    folder = scratch / f"policy-{number}-{len(more)}"
    program = folder / "program"
    program.mkdir(parents=True)
    (program / "__main__.py").write_text(PROGRAM.format(number=number), encoding="utf-8")
    with running(folder / "cloud.sqlite", "aws") as cloud:
        engine = Engine(folder / "state", None, make_project(folder / "project", program), {**cloud.environment, **more})
        engine.select("policy")
        log = engine.state / "preview.log"
        # The usual display redraws all rows for each of them: it costs more than the rest.
        options = ("--json", "--stack", "policy", "--policy-pack", str(REPOSITORY / "policies"))
        process = engine.start("preview", *options, log=log)
        took = processor_seconds(process)
        checked(subprocess.CompletedProcess(process.args, process.wait(), log.read_text("utf-8")[-4000:]))
    pack = sum(seconds for command, seconds in took if "pulumi.policy" in command)
    if not pack:
        raise ToolError(f"no process of the policy pack among {[command[:4] for command, _ in took]}")
    rest = sum(seconds for _, seconds in took) - pack
    print(f"  policy pack, {number} templates {how}: {pack:.1f} s of processors, all else {rest:.1f} s", flush=True)
    goal = " (at most 0.1)" if number == TEMPLATES[-1] and not more else ""
    label = f"all else of the same preview {how}, {number:,} launch templates of 32 NICs: processor seconds{goal}"
    return (f"policy {number}", pack, rest, label)
