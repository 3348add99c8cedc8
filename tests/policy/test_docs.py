"""docs/policies.md has a section for every rule, written from the rule itself: GPUFABRIC_REGOLD=1 writes them anew."""

import json
import os
from collections.abc import Iterator

from gpufabric.policy import RULES, Rule
from gpufabric.policy.rules import TOPICS
from tools.folders import REPOSITORY

PAGE = REPOSITORY / "docs" / "policies.md"
BEGIN = "<!-- rules: written from the rules themselves -->\n"


def sections() -> str:
    """The second half of the page."""
    return "\n".join(line for topic, rules in TOPICS.items() for line in (f"## {topic}\n", *map(section, rules)))


def section(rule: Rule) -> str:
    return "\n".join(_lines(rule)) + "\n"


def _lines(rule: Rule) -> Iterator[str]:
    kinds = ", ".join(f"`{each}`" for each in rule.kinds)
    yield f"### {rule.name}\n"
    yield f"{rule.says}\n"
    yield f"- Level: {rule.prod} (`prod`), {rule.dev} (`dev`). Severity: {rule.severity}."
    yield f"- Why: {rule.why}"
    yield f"- Fix: {rule.fix}"
    yield f"- Looks at: {kinds}" + (", and at what they refer to." if rule.needs_stack else ".")
    if rule.tags:
        yield f"- Like: {', '.join(rule.tags)}."
    if rule.settings:
        yield "\n| setting | type | default | |\n|---|---|---|---|"
        for each in rule.settings:
            default = json.dumps(each.default).replace("|", "\\|")
            yield f"| `{each.name}` | {each.kind} | `{default}` | {each.means} |"


def test_the_page_has_a_section_for_every_rule() -> None:
    text = PAGE.read_text("utf-8")
    head, mark, rest = text.partition(BEGIN)
    assert mark, f"{PAGE} lacks {BEGIN}"
    if "GPUFABRIC_REGOLD" in os.environ:
        PAGE.write_text(f"{head}{mark}\n{sections()}", encoding="utf-8")
        return
    assert rest == f"\n{sections()}"


def test_the_pages_head_counts_right() -> None:
    head = PAGE.read_text("utf-8").partition(BEGIN)[0]
    assert f"{len(RULES)} rules" in head
