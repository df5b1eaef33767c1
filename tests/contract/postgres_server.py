"""A PostgreSQL server of one's own, from the installed package, for as long as it is needed.

It listens on a socket in a folder that only its user may enter, so no port can be taken and nobody
else can connect. A shell watches it: when this process ends, in whatever way, the pipe to that
shell closes, the server stops and its folder goes.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START = """
"$1/initdb" -D "$2/data" -U counterpane -A trust -E UTF8 --locale=C --no-sync >"$2/log" 2>&1 || exit
"$1/postgres" -D "$2/data" -k "$2" -h "" -F -c full_page_writes=off >>"$2/log" 2>&1 &
cat >/dev/null
kill -INT $!
wait
rm -rf "$2"
"""


def binaries() -> Path | None:
    """The folder of the newest server that Debian's package has installed."""
    found = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = max(found, key=lambda path: float(path.parts[-3]), default=None)
    return None if newest is None else newest.parent


@contextmanager
def server(programs: Path) -> Iterator[str]:
    """How to connect to a fresh server, which is stopped at the end."""
    folder = tempfile.mkdtemp(prefix="counterpane-")
    options: dict[str, object] = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        user = next(u for u in pwd.getpwall() if u.pw_name in ("postgres", "nobody"))
        os.chown(folder, user.pw_uid, user.pw_gid)
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    shell = subprocess.Popen(
        ["/bin/sh", "-c", START, "sh", str(programs), folder],
        stdin=subprocess.PIPE, cwd="/", start_new_session=True, **options,
    )  # fmt: skip
    try:
        _wait_until_ready(shell, programs, folder)
        yield f"host={folder} user=counterpane dbname=postgres"
    finally:
        shell.communicate()


def _wait_until_ready(shell: subprocess.Popen[bytes], programs: Path, folder: str) -> None:
    asked = [str(programs / "pg_isready"), "-q", "-h", folder]
    deadline = time.monotonic() + 60
    while subprocess.run(asked, check=False).returncode:
        if shell.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"PostgreSQL did not start: {Path(folder, 'log').read_text()}")
        time.sleep(0.05)
