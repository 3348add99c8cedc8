"""Whatever a reading says: no crash, no wanted check left out, and none passes without a text that says so."""

import json
import re
from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpufabric.validation import health_report
from gpufabric.validation.health import examine
from gpufabric.validation.health_readings import Reading, Readings
from gpufabric.validation.health_wish import CHECKS
from tests.validation.health_outputs import HEALTHY
from tests.validation.test_health import WISH

CODES = st.none() | st.sampled_from([0, 1, 2, 3, 6, 124, 126, 127, 255])
WORDS = st.sampled_from(
    [
        *("[N/A]", "[Unknown Error]", "ERR!", "No devices were found", "index, ", "GPU 0:", "Link 0: ", "<inactive>"),
        *("26.562 GB/s", "Active", "Not Active", "Yes", "No", "0", "8", "-1", "1e9", ",", "|", "\n", "end of log"),
        *("end of ports", "NVRM: Xid (", "4: ACTIVE", "5: LinkUp", "{", '{"DCGM Diagnostic":', "memlock", "unlimited"),
        *("state up", "has eth0", "\x00", "é", "\uff19"),
    ]
)
TEXTS = st.text(max_size=200) | st.lists(WORDS, max_size=30).map("".join) | st.lists(WORDS, max_size=30).map(" ".join)
NAMES = st.sampled_from(sorted(HEALTHY))


def damaged(text: str, at: int, length: int, filler: str) -> str:
    """A healthy text with a piece replaced: closest to what fools a parser."""
    at %= len(text) + 1
    return text[:at] + filler + text[at + length :]


DAMAGE = st.tuples(st.integers(0, 10_000), st.integers(0, 60), WORDS | st.text(max_size=8))


def holds(readings: Readings) -> tuple[str, ...]:
    """Every wanted check ends once; no mistake of ours; the report survives its way through a message."""
    report = examine(WISH, readings)
    names = [*report.passed, *(each.check for each in report.findings)]
    assert sorted(names) == sorted(CHECKS)
    assert not [each for each in report.findings if "mistake in gpufabric" in each.measured]
    back = health_report.parse(json.loads(json.dumps(report.to_raw())))
    assert back is not None
    assert len(back.findings) + back.dropped == len(report.findings)
    assert len(json.dumps(report.to_raw()).encode()) < 2200
    return report.passed


@given(st.dictionaries(NAMES, st.tuples(TEXTS, CODES)))
@settings(max_examples=300, deadline=None)
def test_any_texts(texts: dict[str, tuple[str, int | None]]) -> None:
    passed = holds(Readings({name: Reading(text, code) for name, (text, code) in texts.items()}))
    assert not set(passed) & {"gpu_count", "nvlink", "ecc", "rows_pending", "rows_failure", "throttle", "recovery", "pcie"}
    assert not set(passed) & {"hca_count", "hca_state", "hca_rate", "shm", "hugepages"}


def cells(text: str, wanted: str) -> int:
    """How many lines of a table end in the healthy value."""
    return sum(line.rsplit(",", 1)[-1].strip().lower() == wanted for line in text.split("\n"))


# What must stand in a reading before its check may pass, said in another way than the checks say it.
ORACLES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "ecc": ("ecc", lambda text: sum(bool(re.search(r", *0+ *$", line)) for line in text.split("\n")) >= 8),
    "rows_failure": ("rows", lambda text: cells(text, "no") >= 8 and "failure" in text),
    "rows_pending": ("rows", lambda text: len(re.findall(r", *no *,", text, re.IGNORECASE)) >= 8),
    "throttle": ("throttle", lambda text: len(re.findall("not active", text, re.IGNORECASE)) >= 32),
    "recovery": ("recovery", lambda text: cells(text, "none") >= 8),
    "nvlink": ("nvlink", lambda text: len(re.findall(r"Link \d+: [0-9.]+ GB/s\s*$", text, re.MULTILINE)) >= 8 * 18),
    "gpu_count": ("gpus", lambda text: sum(line.count(",") == 7 for line in text.split("\n")) >= 9),
    "hca_count": ("ports", lambda text: len(re.findall("^ibp", text, re.MULTILINE)) >= 8 and "end of ports" in text),
    "hca_state": ("ports", lambda text: "DOWN" not in text and "end of ports" in text),
    "xid": ("xid_kernel", lambda text: text.rstrip().endswith("end of log")),
    "shm": ("shm", lambda text: "/dev/shm" in text),  # noqa: S108
    "hugepages": ("hugepages", lambda text: "HugePages_Total" in text and "Hugepagesize" in text),
    "interface": ("interface", lambda text: "has eth0" in text and "state" in text),
    "dcgm": ("dcgm", lambda text: '"pass"' in text.lower() and '"fail' not in text.lower()),
    "memlock": ("memlock", lambda text: "capabilities" in text or "unlimited" in text),
    "rdma_device": ("rdma_devices", lambda text: "end of devices" in text and len(text.split("\n")) > 2),
}


@example(name="nvlink", damage=(154, 0, "\uff19"), twice=False)  # a digit of another script in a speed
@given(NAMES, DAMAGE, st.booleans())
@settings(max_examples=600, deadline=None)
def test_a_healthy_text_with_a_piece_replaced(name: str, damage: tuple[int, int, str], twice: bool) -> None:
    text = damaged(HEALTHY[name], *damage)
    if twice:
        text = damaged(text, *damage)
    passed = holds(Readings({**{each: Reading(said, 0) for each, said in HEALTHY.items()}, name: Reading(text, 0)}))
    for check, (reading, says_so) in ORACLES.items():
        if reading == name and check in passed:
            assert says_so(text), f"{check} passed on {text!r}"


@given(NAMES, TEXTS, CODES)
@settings(max_examples=300, deadline=None)
def test_one_reading_is_any_text(name: str, text: str, code: int | None) -> None:
    passed = holds(Readings({**{each: Reading(said, 0) for each, said in HEALTHY.items()}, name: Reading(text, code)}))
    for check, (reading, says_so) in ORACLES.items():
        if (check, code) == ("gpu_count", 127):
            continue  # no nvidia-smi in the image: the device files are counted
        if reading == name and check in passed:
            assert says_so(text), f"{check} passed on {text!r}"
            assert code == 0 or check == "dcgm", f"{check} passed with exit code {code}"
