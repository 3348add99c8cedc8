"""What a pull request would change, as one report: read from the engine's events, written as Markdown, JSON or HTML.

Pure: it reads plain mappings. ``gpufabric.cli.review`` runs the preview.
"""

from gpufabric.review.as_json import as_json
from gpufabric.review.markdown import markdown
from gpufabric.review.model import Change, Drain, GroupChange, Result, Review
from gpufabric.review.page import page
from gpufabric.review.read import read_review

__all__ = ["Change", "Drain", "GroupChange", "Result", "Review", "as_json", "markdown", "page", "read_review"]
