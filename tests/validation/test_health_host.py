"""Stage 0, the host: adapters as NCCL selects them, limits, memory, the interface."""

from dataclasses import replace

import pytest

from gpufabric.validation.health import examine
from gpufabric.validation.health_readings import Port, Reading, selected
from gpufabric.validation.health_report import Finding
from gpufabric.validation.health_wish import FATAL, NOT_CHECKED, WARNING, Health
from tests.validation import health_outputs as outputs
from tests.validation.health_outputs import readings
from tests.validation.test_health import RULES, WISH, only

MLX = [Port(f"mlx5_{n}", "1", "4: ACTIVE", "5: LinkUp", 400.0) for n in (0, 1, 10)]
BOND = Port("mlx5_bond_0", "1", "4: ACTIVE", "5: LinkUp", 100.0)
TWO = Port("mlx4_0", "2", "1: DOWN", "3: Disabled", 40.0)


@pytest.mark.parametrize(
    ("hcas", "chosen", "idle"),
    [
        (["mlx5"], ["mlx5_0", "mlx5_1", "mlx5_10", "mlx5_bond_0"], []),
        (["mlx5_1"], ["mlx5_1", "mlx5_10"], []),
        (["=mlx5_1"], ["mlx5_1"], []),
        (["=mlx5_0", "mlx5_1"], ["mlx5_0", "mlx5_1"], []),
        (["^mlx5_bond", "mlx4"], ["mlx5_0", "mlx5_1", "mlx5_10"], []),
        (["^=mlx5_1"], ["mlx5_0", "mlx5_10", "mlx5_bond_0", "mlx4_0:2"], []),
        (["mlx4_0:1"], [], ["mlx4_0:1"]),
        (["mlx4_0:2"], ["mlx4_0:2"], []),
        (["mlx5_0", "ibp"], ["mlx5_0"], ["ibp"]),
        (["mlx5_0", "=mlx5_1"], ["mlx5_0"], ["=mlx5_1"]),
    ],
)
def test_adapters_are_selected_as_nccl_does(hcas: list[str], chosen: list[str], idle: list[str]) -> None:
    found, without = selected([*MLX, BOND, TWO], hcas)
    assert [port.name for port in found] == chosen
    assert without == idle


ALL_ACTIVE = "every selected port ACTIVE and LinkUp"


def test_an_adapter_is_missing() -> None:
    one = only(ports=outputs.ports(7))
    assert (one.check, one.severity) == ("hca_count", FATAL)
    assert one.measured.startswith("7 adapters (ibp0, ibp1, ")
    assert one.wanted == "at least 8 adapters, one or more for each of ibp"


def test_no_adapter_at_all_is_one_fatal_finding() -> None:
    report = examine(WISH, readings(ports="end of ports\n"))
    assert [(each.check, each.measured) for each in report.fatal] == [("hca_count", "0 adapters (none); none for ibp")]
    assert {each.check for each in report.findings} == {"hca_count", "hca_state", "hca_rate"}


@pytest.mark.parametrize(
    "state", ["1: DOWN|3: Disabled", "2: INIT|5: LinkUp", "3: ARMED|5: LinkUp", "4: ACTIVE|2: Polling", "0: INACTIVE|5: LinkUp"]
)
def test_a_port_that_is_not_up(state: str) -> None:
    one = only(ports=outputs.ports(odd={3: f"{state}|400 Gb/sec (4X NDR)|InfiniBand"}))
    assert one == Finding("hca_state", FATAL, f"ibp3 {state.replace('|', ', ')}", ALL_ACTIVE)


def test_a_port_without_a_state_is_not_checked() -> None:
    assert only(ports=outputs.ports(odd={3: "||400 Gb/sec (4X NDR)|"})).severity == NOT_CHECKED


SLOW = "4: ACTIVE|5: LinkUp|200 Gb/sec (4X HDR)|InfiniBand"


def test_a_slower_port_is_fatal_where_the_rate_is_known_and_said_where_not() -> None:
    one = only(ports=outputs.ports(odd={5: SLOW}))
    assert one == Finding("hca_rate", FATAL, "ibp5 200 Gbit/s", "400 Gbit/s on every port")
    one = only(replace(WISH, hca_gbits_per_s=0), ports=outputs.ports(odd={5: SLOW}))
    assert one == Finding("hca_rate", WARNING, "ibp5 200 Gbit/s", "the same rate on every port")
    assert only(ports=outputs.ports(odd={5: "4: ACTIVE|5: LinkUp|fast|InfiniBand"})).severity == NOT_CHECKED


def test_one_port_of_unknown_rate_has_nothing_to_be_compared_with() -> None:
    wish = replace(WISH, hcas_per_node=0, hca_gbits_per_s=0)
    one = only(wish, ports=outputs.ports(1))
    assert (one.check, one.severity) == ("hca_rate", NOT_CHECKED)


def test_a_list_of_ports_that_is_cut_off_counts_nothing() -> None:
    report = examine(WISH, readings(ports=outputs.ports().replace("end of ports\n", "")))
    assert {each.check: each.severity for each in report.findings} == dict.fromkeys(
        ("hca_count", "hca_state", "hca_rate"), NOT_CHECKED
    )


def test_device_files() -> None:
    wanted = "an RDMA device file (/dev/infiniband/uverbs*) for each adapter"
    assert only(rdma_devices=outputs.devices()) == Finding("rdma_device", FATAL, "none", wanted)
    one = only(rdma_devices=outputs.devices("/dev/infiniband/uverbs0"))
    assert one == Finding("rdma_device", WARNING, "1 for 8 adapters", wanted)
    assert only(rdma_devices="/dev/infiniband/uverbs0\n").severity == NOT_CHECKED


WITH, WITHOUT = "00000000a80465fb", "00000000a80425fb"  # containerd's default set, with and without IPC_LOCK


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (f"memlock unlimited\ncapabilities {WITHOUT}\n", None),
        ("memlock unlimited\n", None),
        (f"memlock 8192\ncapabilities {WITH}\n", None),
        ("memlock 64\ncapabilities 0000000000004000\n", None),
        (f"memlock 8192\ncapabilities {WITHOUT}\n", FATAL),
        ("memlock 8192\ncapabilities 0000000000000000\n", FATAL),
        ("memlock 8192\n", NOT_CHECKED),
        ("memlock \ncapabilities 0\n", NOT_CHECKED),
        ("", NOT_CHECKED),
    ],
)
def test_memlock(text: str, severity: str | None) -> None:
    found = examine(Health(interface="eth0", hcas=("ibp",), rules=RULES), readings(memlock=text)).findings
    assert [each.severity for each in found if each.check == "memlock"] == ([severity] if severity else [])


def test_shared_memory() -> None:
    small = "Filesystem 1024-blocks Used Available Capacity Mounted on\nshm 65536 0 65536 0% /dev/shm\n"
    assert only(shm=small) == Finding("shm", FATAL, "64 MiB", "at least 1024 MiB")
    for odd in (small.replace("% /dev/", "% /srv/"), small.replace("65536 0 65536", "? 0 ?"), small.splitlines()[0], ""):
        assert only(shm=odd).severity == NOT_CHECKED
    assert only(shm=Reading("df: /dev/shm: No such file or directory\n", 1)).severity == NOT_CHECKED


def test_huge_pages() -> None:
    assert only(hugepages="HugePages_Total: 5\nHugepagesize: 2048 kB\n") == Finding(
        "hugepages", FATAL, "10 MiB", "at least 5120 MiB"
    )
    assert only(hugepages="HugePages_Total: many\nHugepagesize: 2048 kB\n").severity == NOT_CHECKED
    assert only(hugepages="HugePages_Total: 5000\n").severity == NOT_CHECKED


@pytest.mark.parametrize(
    ("text", "severity", "measured"),
    [
        ("has lo\nhas net1\n", FATAL, "no eth0; the pod has lo, net1"),
        ("state down\nhas eth0\nhas lo\n", FATAL, "eth0 is down"),
        ("state lowerlayerdown\nhas eth0\n", FATAL, "eth0 is lowerlayerdown"),
        ("has eth0\n", NOT_CHECKED, "not understood: has eth0"),
        ("state up\n", NOT_CHECKED, "not understood: state up"),
    ],
)
def test_the_interface(text: str, severity: str, measured: str) -> None:
    assert only(interface=text) == Finding("interface", severity, measured, "eth0, up")


def test_an_interface_without_a_carrier_to_report_is_up() -> None:
    assert examine(WISH, readings(interface="state unknown\nhas eth0\n")).findings == ()
