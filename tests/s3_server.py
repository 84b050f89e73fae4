"""The least of S3's protocol that reading takes: lists of objects, and objects as a whole or in part.

    with served("bucket", {"people/part-1.parquet": content}) as server:
        server.environment                    # what tells polars where it is and who asks
        server.at("people/part-1.parquet")    # "s3://bucket/people/part-1.parquet"
        server.objects["people/..."] = ...    # may be changed meanwhile

Whoever asks with another key than `KEY` is refused. Signatures are not looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY = "AKIDEXAMPLE"


@dataclass
class S3Server:
    bucket: str
    objects: dict[str, bytes]
    """What is kept, by key."""
    port: int = 0

    def at(self, key: str) -> str:
        """The address of an object, or of several."""
        return f"s3://{self.bucket}/{key}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": "CANARY-secret",
        }


def tag(content: bytes) -> str:
    """By what an object is known again."""
    return f'"{sha256(content).hexdigest()[:32]}"'


@contextmanager
def served(bucket: str, objects: dict[str, bytes]) -> Iterator[S3Server]:
    """A server on this machine, until the block ends."""
    kept = S3Server(bucket, dict(objects))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and content go together, or the other side waits between them

        def log_message(self, *arguments: Any) -> None:
            pass

        def answer(self, code: int, content: bytes = b"", **headers: str) -> None:
            self.send_response(code)
            for name, value in {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            if "Content_Length" not in headers:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def refused(self, code: int, name: str) -> None:
            text = f"<?xml version='1.0'?><Error><Code>{name}</Code><Message>CANARY-message</Message></Error>"
            self.answer(code, text.encode(), Content_Type="application/xml")

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
                return self.refused(403, "InvalidAccessKeyId")
            bucket, _, key = unquote(url.path).strip("/").partition("/")
            if bucket != kept.bucket:
                return self.refused(404, "NoSuchBucket")
            if not key:
                return self.listed(parse_qs(url.query).get("prefix", [""])[0])
            content = kept.objects.get(key)
            if content is None:
                return self.refused(404, "NoSuchKey")
            wanted = self.headers.get("Range", "").removeprefix("bytes=")
            if self.command == "HEAD" or not wanted:
                return self.answer(200, content, ETag=tag(content))
            first, _, last = wanted.partition("-")
            end = len(content) if not last else int(last) + 1
            begin = int(first) if first else max(len(content) - int(last), 0)
            part = content[begin : end if first else len(content)]
            where = f"bytes {begin}-{begin + len(part) - 1}/{len(content)}"
            return self.answer(206, part, Content_Range=where, ETag=tag(content))

        def listed(self, prefix: str) -> None:
            found = [key for key in sorted(kept.objects) if key.startswith(prefix)]
            entries = "".join(
                f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                f"<ETag>{tag(kept.objects[key])}</ETag><Size>{len(kept.objects[key])}</Size></Contents>"
                for key in found
            )
            text = (
                "<?xml version='1.0'?><ListBucketResult><IsTruncated>false</IsTruncated>"
                f"<Name>{kept.bucket}</Name><KeyCount>{len(found)}</KeyCount>{entries}</ListBucketResult>"
            )
            self.answer(200, text.encode(), Content_Type="application/xml")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
