"""FabricNetworks: one pair of objects for each card, in rail order."""

from typing import Any

import pytest

from gpufabric.hardware.machines import gcp_machines
from gpufabric.kubernetes.fabric_networks import FabricNetworks
from gpufabric.plan.fabric_networks import plan_networks, widest
from gpufabric.plan.gcp.network import network_count
from gpufabric.spec import SpecError
from tests.kubernetes.mocked import Recording, run


def networks(machine_type: str, count: int, **how: Any) -> Recording:
    given: Any = [{"network": f"vpc-{each}", "subnetwork": f"sub-{each}"} for each in range(count)]
    return run(lambda: FabricNetworks("fabric", {"machine_type": machine_type, "networks": given}), **how)


COUNTS = {"a3-highgpu-8g": 4, "a3-megagpu-8g": 8, "a3-ultragpu-8g": 9, "a4-highgpu-8g": 9}


@pytest.mark.parametrize("machine", COUNTS)
def test_each_network_of_the_pool_is_an_object_in_its_order(machine: str) -> None:
    made = networks(machine, COUNTS[machine])
    params = {each.inputs["metadata"]["name"]: each.inputs["spec"] for each in made.of("GKENetworkParamSet")}
    of_pods = {each.inputs["metadata"]["name"]: each.inputs["spec"] for each in made.of("Network")}
    assert params.keys() == of_pods.keys()
    assert len(params) == COUNTS[machine]
    (stack,) = made.of("FabricNetworks")
    assert stack.outputs is not None
    order = stack.outputs["names"]
    assert [params[name]["vpc"] for name in order] == [f"vpc-{each}" for each in range(COUNTS[machine])]
    assert [params[name]["vpcSubnet"] for name in order] == [f"sub-{each}" for each in range(COUNTS[machine])]
    for name, spec in of_pods.items():
        reference = {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": name}
        assert spec == {"type": "Device", "parametersRef": reference}


def test_the_second_card_of_the_host_comes_first_and_is_no_rdma() -> None:
    modes = {
        e.inputs["metadata"]["name"]: e.inputs["spec"]["deviceMode"]
        for e in networks("a4-highgpu-8g", 9).of("GKENetworkParamSet")
    }
    assert modes == {"gvnic-1": "NetDevice", **{f"rdma-{rail}": "RDMA" for rail in range(8)}}


def test_a3_high_may_have_more_cards_which_pods_do_not_use() -> None:
    names = [each.inputs["metadata"]["name"] for each in networks("a3-highgpu-8g", 5).of("Network")]
    assert sorted(names) == [f"gpu-{rail}" for rail in range(4)]


def test_machines_that_share_networks_declare_them_once() -> None:
    assert widest(["a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g"]) == ("a3-megagpu-8g", "a3-ultragpu-8g")
    assert widest(["a3-highgpu-8g", "g2-standard-96"]) == ("a3-highgpu-8g",)


@pytest.mark.parametrize("machine", COUNTS)
def test_the_names_are_as_many_as_the_node_pools_networks(machine: str) -> None:
    row = gcp_machines()[machine]
    assert len(plan_networks(machine, COUNTS[machine])) == network_count(row)


BAD = {
    "a rail too few on A3 High": (("a3-highgpu-8g", 3), "fabric.networks: 3 networks; a node of a3-highgpu-8g has exactly 4 "),
    "one too many on A3 Mega": (
        ("a3-megagpu-8g", 9),
        "fabric.networks: 9 networks; a node of a3-megagpu-8g has exactly 8 beside the cluster's own; give those of its ",
    ),
    "a rail too few": (("a3-ultragpu-8g", 8), "fabric.networks: 8 networks; a node of a3-ultragpu-8g has exactly 9 "),
    "a machine without a fabric": (("g2-standard-96", 1), "fabric.machine_type: g2-standard-96 has no fabric whose networks "),
    "a machine of another cloud": (("p5.48xlarge", 1), "fabric.machine_type: p5.48xlarge has no fabric whose networks "),
    "an unknown machine": (("a9", 1), "fabric.machine_type: unknown machine 'a9'"),
    "a machine that is not built": (("a4x-highgpu-4g", 5), "fabric.machine_type: "),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_wish_registers_nothing(case: str) -> None:
    args, says = BAD[case]
    recording = Recording()
    with pytest.raises(SpecError) as caught:
        networks(*args, recording=recording)
    assert str(caught.value).startswith(says)
    assert recording.resources == []
