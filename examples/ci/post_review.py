"""Post a report of `gpufabric review` as one comment below a pull or merge request, and keep that one up to date.

    python3 post_review.py review.md              # in GitHub Actions or GitLab CI: everything is in the environment
    python3 post_review.py review.md --number 7

Standard library only: copy it. The report's first line marks the comment, one for each stack. Environment:
GitHub: GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN (pull-requests: write), and the number from GITHUB_EVENT_PATH.
GitLab: CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID, GITLAB_TOKEN (a project access token with the scope api).
"""

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = "<!-- gpufabric-review:"
TRIES = 4
PAGE = 100
TIMEOUT_S = 30


class CannotPostError(Exception):
    """The message says why, and never holds the token."""


@dataclass(frozen=True)
class Forge:
    """Where the comments of one request lie. ``edit``: how one of them is changed, by method and address."""

    comments: str
    edit: tuple[str, str]
    headers: dict[str, str]

    def find(self, mark: str) -> int | None:
        """The comment that begins with the mark."""
        return next((each["id"] for each in self._all() if each["body"].lstrip().startswith(mark)), None)

    def _all(self) -> Iterator[dict[str, Any]]:
        for page in range(1, 1000):
            found = self.call("GET", f"{self.comments}?per_page={PAGE}&page={page}")
            yield from found
            if len(found) < PAGE:
                return

    def write(self, text: str, comment: int | None) -> str:
        """Change the comment, or make it; what was done."""
        if comment is not None:
            method, address = self.edit
            try:
                self.call(method, address.format(id=comment), {"body": text})
            except PermissionError:  # somebody else's: it stays, ours comes below
                self.call("POST", self.comments, {"body": text})
                return "made, since the old one is not ours to change"
            return "changed"
        self.call("POST", self.comments, {"body": text})
        return "made"

    def call(self, method: str, address: str, body: dict[str, str] | None = None) -> Any:
        """Ask the forge; its own trouble is waited out a few times."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(address, data, self.headers, method=method)  # noqa: S310 - the forge's own address
        for attempt in range(1, TRIES + 1):
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code == 403 and method in ("PATCH", "PUT"):
                    raise PermissionError from None
                if (error.code >= 500 or error.code == 429) and attempt < TRIES:
                    time.sleep(float(os.environ.get("POST_REVIEW_WAIT_S", "2")) * attempt)
                    continue
                raise CannotPostError(f"{method} {address}: {error.code} {error.reason}{_hint(error.code)}") from None
            except OSError as error:
                if attempt == TRIES:
                    raise CannotPostError(f"{method} {address}: {error}") from None
                time.sleep(float(os.environ.get("POST_REVIEW_WAIT_S", "2")) * attempt)
        raise AssertionError("the last try returns or raises")


def _hint(code: int) -> str:
    hints = {401: "; is the token right?", 403: "; may the token write comments?", 404: "; is there such a request?"}
    return hints.get(code, "")


def forge(number: str | None) -> Forge:
    """The forge that the environment names."""
    if os.environ.get("GITHUB_REPOSITORY"):
        api, repository, token = (_needed(key) for key in ("GITHUB_API_URL", "GITHUB_REPOSITORY", "GITHUB_TOKEN"))
        base = f"{api}/repos/{repository}/issues"
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json", "User-Agent": "gpufabric"}
        return Forge(f"{base}/{number or _github_number()}/comments", ("PATCH", f"{base}/comments/{{id}}"), headers | _JSON)
    if os.environ.get("CI_PROJECT_ID"):
        api, project, token = (_needed(key) for key in ("CI_API_V4_URL", "CI_PROJECT_ID", "GITLAB_TOKEN"))
        notes = f"{api}/projects/{project}/merge_requests/{number or _needed('CI_MERGE_REQUEST_IID')}/notes"
        return Forge(notes, ("PUT", f"{notes}/{{id}}"), {"PRIVATE-TOKEN": token} | _JSON)
    raise CannotPostError("neither GITHUB_REPOSITORY nor CI_PROJECT_ID is set")


_JSON = {"Content-Type": "application/json"}


def _needed(key: str) -> str:
    value = os.environ.get(key, "")
    if not value:
        raise CannotPostError(f"{key} is not set")
    return value


def _github_number() -> str:
    event = json.loads(Path(_needed("GITHUB_EVENT_PATH")).read_text("utf-8"))
    number = event.get("number") or event.get("issue", {}).get("number")
    if not number:
        raise CannotPostError("the event is of no pull request; give --number")
    return str(number)


def mark_of(text: str, report: Path) -> str:
    """The report's first line."""
    mark = text.partition("\n")[0].strip()
    if not mark.startswith(MARK):
        raise CannotPostError(f"{report} is no report of gpufabric review --format markdown")
    return mark


def main() -> int:
    """0: posted; 1: not, with one line on stderr."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("--number", help="of the pull or merge request")
    asked = parser.parse_args()
    try:
        text = asked.report.read_text("utf-8")
        mark, where = mark_of(text, asked.report), forge(asked.number)
        print(f"comment {where.write(text, where.find(mark))}")
    except (CannotPostError, OSError) as error:
        print(f"post_review: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
