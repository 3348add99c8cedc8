"""A save as a job does it, run in a pod: write a file into a mounted bucket, close it, wait for the barrier. Prints one line.

    python3 save_in_pod.py FOLDER NAME MIB      FOLDER: of the mount; the bucket is FOLDER/files

JSON: seconds until the file was closed and until it was in the bucket, and its checksum. Standard library only.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

PIECE = 1 << 20
MOUNTED_SECONDS = 60


def main() -> int:
    """0: it is in the bucket. Else what the barrier said, which is then on standard error."""
    folder, name, mib = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    pieces = [os.urandom(PIECE) for _ in range(mib)]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    deadline = time.monotonic() + MOUNTED_SECONDS
    while not os.path.ismount(folder / "files"):  # a pod may start before the mount of its node
        if time.monotonic() > deadline:
            print(f"no bucket in {folder} after {MOUNTED_SECONDS} s", file=sys.stderr)
            return 3
        time.sleep(0.1)
    started = time.monotonic()
    try:
        with (folder / "files" / name).open("wb") as file:
            for piece in pieces:
                file.write(piece)
    except OSError as error:
        print(f"cannot be written: {error}", file=sys.stderr)
        return 1
    closed = time.monotonic()
    code = subprocess.run(["/bin/sh", str(folder / "flush"), "--timeout", "60"], stdout=sys.stderr, check=False).returncode
    ended = time.monotonic()
    if code == 0:
        told = {"size": mib * PIECE, "close_s": closed - started, "bucket_s": ended - started, "sha256": digest.hexdigest()}
        print(json.dumps(told))
    return code


if __name__ == "__main__":
    sys.exit(main())
