"""The program with which `make up` saves, on a real mount: its figures are in order, its checksum is the bucket's."""

import json
import subprocess
import sys

from tests.mounts.node import MIB, Node
from tools.folders import REPOSITORY


def test_it_says_when_the_file_was_closed_and_when_it_was_in_the_bucket(node: Node) -> None:
    folder = str(node.folder).removeprefix(str(node.root))
    command = node.inside(sys.executable, str(REPOSITORY / "tools/save_in_pod.py"), folder, "a.pt", "4")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["size"] == 4 * MIB
    assert 0 < said["close_s"] < said["bucket_s"]
    assert node.in_bucket() == {"a.pt": said["sha256"]}
    assert "all that was written is in the bucket" in done.stderr
