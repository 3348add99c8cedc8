"""Stage 0 as the coordinator sees it: reports from the judges' messages, and what they mean for the group. Pure."""

from collections.abc import Iterable, Mapping

from gpufabric.validation import health_report
from gpufabric.validation.findings import Finding
from gpufabric.validation.health_report import Report
from gpufabric.validation.pods import Pod, measurements


def reports(pods: Iterable[Pod]) -> dict[str, Report]:
    """Node -> report, of the judges that have spoken."""
    return {node: found.health for node, found in measurements(pods) if found.health is not None}


def sick(found: Mapping[str, Report]) -> dict[str, Report]:
    """Those with a fatal finding."""
    return {node: report for node, report in sorted(found.items()) if report.fatal}


def findings(found: Mapping[str, Report]) -> tuple[Finding, ...]:
    """A finding that names each sick node; empty if none is."""
    return tuple(
        Finding("sick_node", (node,), None, f"Sick node: {node}: {health_report.fatal_text(report)}")
        for node, report in sick(found).items()
    )
