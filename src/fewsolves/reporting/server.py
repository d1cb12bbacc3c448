"""The server of `fewsolves watch`: one page, to this machine alone unless another address is given.

It answers GET of that page and nothing else. Where it listens on the loopback interface, it answers only those who call
it by a name of that interface: a page from elsewhere cannot read it through a name that it makes point here.
"""

from __future__ import annotations

import ipaddress
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fewsolves.errors import InputError
from fewsolves.reporting.watch import Watch

HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class WatchServer(ThreadingHTTPServer):
    """Bound when it is made; serves in `serve_forever`."""

    daemon_threads = True

    def __init__(self, folder: Path, address: str = "127.0.0.1", port: int = 0) -> None:
        """Port 0: one that is free."""
        self.watch, self.guarded = Watch(folder), is_loopback(address)
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            super().__init__((address, port), _Handler)
        except (OSError, OverflowError) as error:
            raise InputError(f"no page can be served at {address}, port {port}: {error}; give another one") from error

    def server_close(self) -> None:
        super().server_close()
        self.watch.close()


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    server_version, sys_version = "fewsolves", ""
    timeout = 30

    def do_GET(self) -> None:
        if self.server.guarded and not is_loopback(_name(self.headers.get("Host", ""))):
            self.send_error(HTTPStatus.FORBIDDEN, "this page is for this machine")
        elif self.path != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            content = self.server.watch.page().encode()
            self.send_response(HTTPStatus.OK)
            for name, value in {**HEADERS, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """No log: requests are not recorded."""


def is_loopback(name: str) -> bool:
    """Whether a name or an address is one of this machine's loopback interface."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.lower()
