"""Reading ``Pulumi.<stack>.yaml``: the exact lines for everything that can be wrong with a file."""

import os
from pathlib import Path

import pytest
import yaml

from gpufabric.spec import SpecError, read_stack_file
from gpufabric.spec.roadmap import BUILT_CLOUDS
from tests.spec.specs import CPU, H100, changed

STACKS = Path(__file__).parents[2] / "stacks"
GOOD = yaml.safe_dump({"config": {"gpufabric:stack": CPU}})


def problems(path: Path) -> list[str]:
    """Every problem of a file; the file itself is called FILE."""
    with pytest.raises(SpecError) as caught:
        read_stack_file(path)
    return str(caught.value).replace(str(path), "FILE").split("\n")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "Pulumi.dev.yaml"


def test_a_good_file_is_read(file: Path) -> None:
    file.write_text(GOOD)
    found = read_stack_file(file)
    assert (found.path, found.stack, found.spec.node_groups[0].name) == (file, "dev", "train")


@pytest.mark.parametrize("name", ["Pulumi.dev.yaml", "Pulumi.dev.yml", "Pulumi.acme.prod-eu_2.yaml"])
def test_the_stack_is_named_by_the_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(GOOD)
    assert read_stack_file(file).stack == name.removeprefix("Pulumi.").rpartition(".")[0]


@pytest.mark.parametrize("sample", sorted(STACKS.glob("Pulumi.*.yaml")), ids=lambda path: path.name)
def test_the_samples_are_good(sample: Path) -> None:
    if sample.name != "Pulumi.dev.yaml":  # the ignored copy of `make up`
        assert read_stack_file(sample).spec.cloud in BUILT_CLOUDS


def test_what_pulumi_and_others_write_is_tolerated(file: Path) -> None:
    document = {
        "config": {"gpufabric:stack": CPU, "kubernetes:context": "x", "pulumi:tags": {"a": "b"}, "token": {"secure": "v1:x"}},
        "encryptionsalt": "v1:abc",
        "secretsprovider": "passphrase",
        "encryptedkey": "AQ==",
        "environment": ["prod"],
    }
    file.write_text(yaml.safe_dump(document))
    assert read_stack_file(file).spec.node_groups[0].nodes == 2


@pytest.mark.parametrize("name", ["Pulumi.yaml", "pulumi.dev.yaml", "Pulumi.dev.json", "stack.yaml", "Pulumi.a b.yaml"])
def test_another_name_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(GOOD)
    assert problems(tmp_path / name) == ["FILE: not the name of a stack file; name it Pulumi.<stack>.yaml"]


def test_a_missing_file(file: Path) -> None:
    assert problems(file) == ["FILE: no such file; samples lie in stacks/"]


def test_a_file_below_a_file(file: Path) -> None:
    file.write_text(GOOD)
    assert problems(file / "Pulumi.x.yaml") == ["FILE: cannot be read: Not a directory"]


def test_a_folder(tmp_path: Path, file: Path) -> None:
    file.mkdir()
    for folder in (tmp_path, file):
        assert problems(folder) == ["FILE: a folder, not a file; name the Pulumi.<stack>.yaml in it"]


def test_a_file_that_may_not_be_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(GOOD)
    file.chmod(0)
    if os.access(file, os.R_OK):  # root reads everything

        def refuse(*_: object, **__: object) -> str:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_text", refuse)
    assert problems(file) == ["FILE: not readable by this user; check its permissions"]


BELOW = "write config:, below it gpufabric:stack:, below it what you ask for"
TOP = "unknown key at the top of the file; what you ask for stands below config: gpufabric:stack:"
ONLY = "unknown key; the only key of this project is gpufabric:stack"
MISSING = "config.gpufabric:stack: missing; what you ask for stands there; stacks/Pulumi.local.yaml is an example"
QUOTES = "FILE: malformed YAML: a date or number that cannot be; put values that are meant as text in quotes"
SECURE = "encrypted by pulumi config set --secret; nothing here is secret; write the plain value"
KEYS = "known keys: node_groups, validation, scheduler, stores, filesystems, storage, local_nvme, cloud, orchestrator, cluster"


def top(found: str) -> list[str]:
    return [f"FILE: expected a mapping at the top of the file, found {found}; {BELOW}"]


def malformed(at: str, what: str) -> list[str]:
    return [f"FILE:{at}: malformed YAML: {what}; check indentation, colons and quotes there"]


FILES: dict[str, tuple[str, list[str]]] = {
    "empty": ("", top("nothing")),
    "only a comment": ("# later\n", top("nothing")),
    "a list": ("- config\n", top("a list")),
    "a text": ("config", top("'config'")),
    "an empty mapping": ("{}", [MISSING]),
    "an empty config": ("config:", [MISSING]),
    "config as a list": ("config: [a]", [MISSING]),
    "another project's config": ("config: {aws:region: x}", [MISSING]),
    "a misspelt config key": ("config: {gpufabric:stak: {}}", [f"config.gpufabric:stak: {ONLY}", MISSING]),
    "no config level": ("gpufabric:stack: {cloud: aws}", [f'["gpufabric:stack"]: {TOP}', MISSING]),
    "two colons": ("a: b: c", malformed("1:5", "mapping values are not allowed here")),
    "a tab": ("config:\n\ta: 1", malformed("2:1", "found character '\\t' that cannot start any token")),
    "an open bracket": ("config: {a: [1, 2}", malformed("1:18", "expected ',' or ']', but got '}'")),
    "an open quote": ('config: "open', malformed("1:14", "found unexpected end of stream")),
    "an unknown alias": ("a: *nowhere", malformed("1:4", "found undefined alias 'nowhere'")),
    "a tag that would run code": (
        "a: !!python/name:os.system {}",
        malformed("1:4", "could not determine a constructor for the tag 'tag:yaml.org,2002:python/name:os.system'"),
    ),
    "two documents": (
        "a: 1\n---\nb: 2",
        malformed("2:1", "expected a single document in the stream, but found another document"),
    ),
    "a key twice": ("config: {}\nconfig: {}", malformed("2:1", "the key 'config' is written twice")),
    "a key twice, deep": (
        "config: {gpufabric:stack: {node_groups: [{nodes: 1, nodes: 2}]}}",
        malformed("1:53", "the key 'nodes' is written twice"),
    ),
    "a list as a key": ("{[a]: b}", malformed("1:2", "found unhashable key")),
    "an alias in itself": ("&a {b: *a}", malformed("1:1", "found unconstructable recursive node")),
    "a date that cannot be": ("a: 2026-02-30", [QUOTES]),
    "a number without end": (f"a: {'9' * 5000}", [QUOTES]),
    "brackets without end": ("[" * 500, ["FILE: malformed YAML: nested too deeply; close the brackets"]),
    "a NUL": ("a: \0", ["FILE: not text: the character U+0000 at position 3; save it as plain UTF-8 text"]),
    "all secret": ("config: {gpufabric:stack: {secure: AAAB}}", [f"gpufabric:stack: {SECURE}"]),
    "parts secret": (
        "config: {gpufabric:stack: {cloud: {secure: A}, node_groups: [{nodes: {secure: B}}]}}",
        [f"gpufabric:stack.cloud: {SECURE}", f"gpufabric:stack.node_groups[0].nodes: {SECURE}"],
    ),
    "an empty wish": ("config: {gpufabric:stack: }", [f"gpufabric:stack: expected a mapping, found nothing; {KEYS}"]),
    "a wish in a word": ("config: {gpufabric:stack: aws}", [f"gpufabric:stack: expected a mapping, found 'aws'; {KEYS}"]),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_answered_with_these_lines(file: Path, case: str) -> None:
    text, lines = FILES[case]
    file.write_text(text)
    assert problems(file) == lines


def test_a_binary_file(file: Path) -> None:
    file.write_bytes(b"config: \xff\xfe")
    assert problems(file) == ["FILE: not UTF-8 text (byte 8); save it as UTF-8"]


def test_all_problems_of_a_file_come_together(file: Path) -> None:
    spec = changed(H100, region="x", group__nodes="2", validation__run=0)
    document = {"config": {"gpufabric:stack": spec, "gpufabric:run": 2, "gpufabric:z": 1}, "resources": {}, "variables": {}}
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    assert problems(file) == [
        f"resources: {TOP}",
        f"variables: {TOP}",
        f"config.gpufabric:run: {ONLY}",
        f"config.gpufabric:z: {ONLY}",
        "gpufabric:stack.region: does not apply to cloud: kubernetes (the cluster already stands somewhere); leave it out",
        "gpufabric:stack.node_groups[0].nodes: expected a whole number, found '2'; write digits without quotes, such as 2",
        "gpufabric:stack.validation.run: 0 is out of range; write a number from 1 up",
    ]


def test_dates_and_yes_are_shown_as_written(file: Path) -> None:
    group = "{name: train, node_selector: {pool: yes, day: 2026-11-29}, accelerators: cpu, nodes: 2}"
    file.write_text(f"config:\n  gpufabric:stack:\n    cloud: kubernetes\n    node_groups:\n      - {group}\n")
    assert problems(file) == [
        "gpufabric:stack.node_groups[0].node_selector.pool: expected a text, found true; put it in quotes",
        "gpufabric:stack.node_groups[0].node_selector.day: expected a text, found the date 2026-11-29; put it in quotes",
    ]
