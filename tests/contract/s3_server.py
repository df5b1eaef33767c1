"""A server of objects on loopback: the part of S3's protocol that reading needs, with faults."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY = "key-of-a-reader"


class Objects(ThreadingHTTPServer):
    """Buckets of objects; `faults` is the number of reads that fail before one succeeds again."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.buckets: dict[str, dict[str, tuple[bytes, float]]] = {}
        self.faults = 0
        self.reads = 0

    @property
    def address(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def put(self, bucket: str, key: str, body: bytes, when: float | None = None) -> None:
        """Store an object."""
        stamp = time.time() if when is None else when
        self.buckets.setdefault(bucket, {})[key] = body, stamp

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may go away."""


class Handler(BaseHTTPRequestHandler):
    """Answers HEAD, GET and lists."""

    protocol_version = "HTTP/1.1"
    server: Objects

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        secret = f"Credential={KEY}/" in self.headers.get("Authorization", "")
        if bucket != "public" and not secret:
            self._send(403, _error("InvalidAccessKeyId", "the key is not known"), body)
        elif bucket not in self.server.buckets:
            self._send(404, _error("NoSuchBucket", "there is no such bucket"), body)
        elif not key:
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self._send(200, self._listing(bucket, query), body)
        elif key not in self.server.buckets[bucket]:
            self._send(404, _error("NoSuchKey", "there is no such key"), body)
        elif body and self.server.faults > 0:
            self.server.faults -= 1
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()  # and nothing follows
        else:
            self._send_object(*self.server.buckets[bucket][key], body)

    def _send_object(self, content: bytes, when: float, body: bool) -> None:
        low, high = 0, len(content) - 1
        asked = self.headers.get("Range")
        if asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            low, high = int(first), min(int(last or high), high)
        self.server.reads += body
        headers = {"Last-Modified": formatdate(when, usegmt=True), "Accept-Ranges": "bytes",
                   "ETag": f'"{when}"'}  # fmt: skip
        if asked:
            headers["Content-Range"] = f"bytes {low}-{high}/{len(content)}"
        self._send(206 if asked else 200, content[low : high + 1], body, headers)

    def _send(
        self, status: int, content: bytes, body: bool, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {"Content-Type": "application/xml"}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def _listing(self, bucket: str, query: dict[str, str]) -> bytes:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        keys, folders = [], set()
        for key, (content, when) in sorted(self.server.buckets[bucket].items()):
            if not key.startswith(prefix):
                continue
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
                continue
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(when))
            keys.append(f"<Contents><Key>{escape(key)}</Key><LastModified>{stamp}</LastModified>"
                        f"<Size>{len(content)}</Size></Contents>")  # fmt: skip
        shared = "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>"
                         for f in sorted(folders))  # fmt: skip
        head = f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><MaxKeys>1000</MaxKeys>"
        n = f"<KeyCount>{len(keys) + len(folders)}</KeyCount><IsTruncated>false</IsTruncated>"
        return f"<ListBucketResult>{head}{n}{''.join(keys)}{shared}</ListBucketResult>".encode()

    def log_message(self, format: str, *args: Any) -> None:
        """Be silent."""


def _error(code: str, words: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{words}</Message></Error>".encode()


@contextmanager
def serving() -> Iterator[Objects]:
    """A server while it is needed."""
    with Objects() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
