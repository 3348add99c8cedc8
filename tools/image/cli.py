"""Commands: ensure, path, name, howto."""

import argparse

from tools.image.build import ensure_images, ensure_torch
from tools.image.recipe import read_recipe

HOWTO = """\
The gate image is {reference}, a docker archive at
  {archive}

On a node of a cluster of your own (containerd):
  ctr -n k8s.io images import {archive}

To a registry that your cluster pulls from, with Docker or with skopeo:
  docker load --input {archive}
  docker tag {reference} REGISTRY/gpufabric/gate:{version} && docker push REGISTRY/gpufabric/gate:{version}
  skopeo copy docker-archive:{archive} docker://REGISTRY/gpufabric/gate:{version}
Then name that image in the stack's configuration."""


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.image", description="The image in which the gate runs.")
    commands = parser.add_subparsers(dest="command", required=True)
    ensure = commands.add_parser("ensure", help="build the gate and the pause image if the cache lacks them")
    ensure.add_argument("image", nargs="?", choices=["torch"], help="instead: the image in which the torch backend is tested")
    commands.add_parser("path", help="print the path of the gate image's archive")
    commands.add_parser("name", help="print the gate image's name as a pod spec says it")
    commands.add_parser("howto", help="print how a cluster of your own gets the gate image")
    arguments = parser.parse_args()
    gate = read_recipe("gate")
    if arguments.command == "ensure" and arguments.image:
        torch = ensure_torch()
        print(f"{torch.reference}: {torch.archive}")
    elif arguments.command == "ensure":
        ensure_images()
        print(f"{gate.reference}: {gate.archive}")
    elif arguments.command == "path":
        print(gate.archive)
    elif arguments.command == "name":
        print(gate.reference)
    else:
        print(HOWTO.format(reference=gate.reference, archive=gate.archive, version=gate.version))
    return 0
