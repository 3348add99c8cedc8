"""Verdicts as one HTML page that stands alone: no other file, no network, light and dark, on paper and for a screen reader.

Standard library only. `read_verdicts` takes a verdict in any form in which one is handed on, `page` draws what it read.
"""

from gpufabric.report.page import page
from gpufabric.report.read import NoVerdictError, read_verdicts
from gpufabric.report.verdict import Verdict

__all__ = ["NoVerdictError", "Verdict", "page", "read_verdicts"]
