"""What time it is: capacity has windows. Replaced in tests, so that plans at fixed times can be compared."""

from datetime import UTC, datetime


def now() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)
