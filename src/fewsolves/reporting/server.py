"""The server of `fewsolves watch`: to this machine alone unless another address is given.

It answers GET of `/` and `/run/NAME`, and POST of `/stop` with the token of the page, which only a page of this machine
has. Nothing else. Where it listens on the loopback interface, it answers only those who call
it by a name of that interface: a page from elsewhere cannot read it through a name that it makes point here.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from fewsolves.errors import InputError
from fewsolves.reporting.watch import REFRESH_SECONDS, Watch

HOST = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9.-]{1,253}))(?::[0-9]{1,5})?")
MAX_FORM = 1000  # bytes of a request to stop
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class WatchServer(ThreadingHTTPServer):
    """Bound when it is made; serves in `serve_forever`."""

    daemon_threads = True

    def __init__(self, folder: Path, address: str = "127.0.0.1", port: int = 0, refresh: int = REFRESH_SECONDS) -> None:
        """Port 0: one that is free. `refresh`: seconds between two readings by a browser."""
        self.watch, self.guarded = Watch(folder, refresh), is_loopback(address)
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            super().__init__((address, port), _Handler)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"no page can be served at {address}, port {port}: {error}; give another port or address"
            ) from error

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        self.watch.close()


class _Handler(BaseHTTPRequestHandler):
    server: WatchServer
    server_version, sys_version = "fewsolves", ""
    timeout = 30

    def do_GET(self) -> None:
        name = self._name_after("/run/") if self.path != "/" else ""
        if self._refused():
            return
        content = None if name is None else self.server.watch.page(name, may_stop=self.server.guarded)
        if content is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        packed = content.encode()
        self.send_response(HTTPStatus.OK)
        for header, value in {**HEADERS, "Content-Length": str(len(packed))}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(packed)

    def do_POST(self) -> None:
        """Stop a run: only on the loopback interface, and only with the token of its page."""
        name = self._name_after("/stop/") if self.path != "/stop" else ""
        if self._refused():
            return
        length = self.headers.get("Content-Length", "")
        form = parse_qs(self.rfile.read(int(length)).decode("ascii", "replace")) if _short(length) else {}
        given = form.get("token", [""])[0]
        if not self.server.guarded or not hmac.compare_digest(given.encode(), self.server.watch.token.encode()):
            self.send_error(HTTPStatus.FORBIDDEN, "the token of the page is missing; load the page again")
        elif name is None or not self.server.watch.stop(name):
            self.send_error(HTTPStatus.NOT_FOUND, "no run is under way there")
        else:
            self.send_response(HTTPStatus.SEE_OTHER)
            self.send_header("Location", f"/run/{quote(name)}" if name else "/")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _refused(self) -> bool:
        """Whether the request came by a name from elsewhere."""
        refused = self.server.guarded and not is_loopback(_name(self.headers.get("Host", "")))
        if refused:
            self.send_error(HTTPStatus.FORBIDDEN, "this page is for this machine")
        return refused

    def _name_after(self, prefix: str) -> str | None:
        """The run that a path names; None where it names none."""
        return unquote(self.path.removeprefix(prefix)) or None if self.path.startswith(prefix) else None

    def log_message(self, format: str, *args: Any) -> None:
        """No log: requests are not recorded."""


def _short(length: str) -> bool:
    return length.isascii() and length.isdigit() and int(length) <= MAX_FORM


def is_loopback(name: str) -> bool:
    """Whether a name or an address is one of this machine's loopback interface."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """The name in a Host header, without the port; nothing where it is no plain name or address with a port."""
    found = HOST.fullmatch(host.lower())
    return "" if found is None else found["v6"] or found["name"]
