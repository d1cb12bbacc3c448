"""Chromium, driven through a pipe by its DevTools protocol, so that no package is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
TALLEST = 2600  # pixels of a screenshot
APART = 14.0  # distance of two colours that are kept
VIVID = 50  # least difference of red, green and blue in a colour that is not grey
PATIENCE = 120.0  # seconds without a word from the browser


class Chromium:
    """One browser with one tab."""

    def __init__(self) -> None:
        to_browser, from_here = os.pipe()
        from_browser, to_here = os.pipe()
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

        def numbered() -> None:  # the protocol is spoken on these two
            os.dup2(to_browser, 103)
            os.dup2(to_here, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        command = [EXECUTABLE or "chromium", *FLAGS, "--remote-debugging-pipe"]
        command += [f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(command, preexec_fn=numbered, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(to_here)
        self._write, self._read = os.fdopen(from_here, "wb", 0), os.fdopen(from_browser, "rb")
        self._number, self._rest = 0, b""
        self.requested: list[str] = []  # addresses that the page loaded
        self.errors: list[str] = []
        self._session: str | None = None
        target = self.say("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.say("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.say(f"{domain}.enable")

    def say(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        while True:
            received = self._next()
            if received.get("id") == self._number:
                if "error" in received:
                    raise RuntimeError(f"{method}: {received['error']}")
                answer: dict[str, Any] = received["result"]
                return answer

    def open(self, address: str) -> None:
        """Go to an address and wait until its page is loaded."""
        self.say("Page.navigate", url="about:blank")  # a page that follows a run would go on loading
        self.wait()
        self.requested, self.errors = [], []
        self.say("Page.navigate", url=address)
        self.wait()

    def wait(self) -> None:
        """Wait until a page is loaded: the one that a click or the page itself asks for."""
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is, a promise awaited."""
        answer = self.say("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    def look_as(self, width: int, scheme: str) -> None:
        """Set the width of the window in pixels, and whether its reader prefers light or dark."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.say("Emulation.setDeviceMetricsOverride", **size)
        self.say("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(
        self, file: Path, width: int, tallest: int = TALLEST, *, colours: int = 0, fitted: bool = False
    ) -> None:
        """A screenshot of the page, at most `tallest` pixels of it.

        With few `colours` the file is small; `fitted`, a page that is shorter than the window has its own height.
        """
        content = "document.body.getBoundingClientRect().bottom + scrollY"
        height = min(tallest, int(self.value(content if fitted else "document.documentElement.scrollHeight")))
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.say("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(shot["data"]))
        if colours:
            shrink(file, colours)

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait()
        self._write.close()
        self._read.close()
        self._profile.cleanup()

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], PATIENCE)[0]:
                raise RuntimeError(f"Chromium has said nothing for {PATIENCE:.0f} s")
            read = os.read(self._read.fileno(), 1 << 20)
            if not read:
                raise RuntimeError("Chromium ended")
            self._rest += read
        line, self._rest = self._rest.split(b"\0", 1)
        received: dict[str, Any] = json.loads(line)
        parameters = received.get("params", {})
        if received.get("method") == "Network.requestWillBeSent":
            self.requested.append(parameters["request"]["url"])
        elif received.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"].get("exception", {}).get("description"))[:200])
        elif received.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")
        return received


def shrink(file: Path, colours: int) -> None:
    """Keep few colours of a picture: the most frequent that are apart, a third of them not grey, such as lines."""
    import numpy as np
    from PIL import Image

    with Image.open(file) as taken:
        pixels = np.array(taken.convert("RGB"))
    found, at, number = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    found, often = found.astype(int), np.argsort(-number)
    vivid = np.ptp(found, axis=1) > VIVID
    kept = found[:0]
    for some, most, apart in ((often[vivid[often]], colours // 3, 4 * APART), (often[~vivid[often]], colours, APART)):
        for colour in found[some]:
            if len(kept) < most and _apart(kept, colour) > apart:
                kept = np.vstack([kept, colour])
    nearest = np.array([np.argmin(((kept - colour) ** 2).sum(axis=1)) for colour in found], dtype=np.uint8)
    small = Image.fromarray(nearest[at.ravel()].reshape(pixels.shape[:2]), mode="P")
    small.putpalette(kept.ravel().tolist())
    small.save(file, optimize=True)


def _apart(kept: Any, colour: Any) -> float:
    """How far a colour is from the nearest that is kept."""
    return float(((kept - colour) ** 2).sum(axis=1).min()) ** 0.5 if len(kept) else float("inf")
