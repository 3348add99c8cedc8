"""The recorded requests of the samples, and what they were recorded for."""

from pathlib import Path

FOLDER = Path(__file__).parent / "recorded"
RECORDS = {file.stem: file for file in sorted(FOLDER.glob("*.json"))}
