"""Memoised functions that charge for an answer each time it is asked for, and the clock that counts by those charges.

Labels, the draws of LODL and the readings of the start are the same for every trial under the same conditions. Who asks
again gets the answer and is charged the seconds that it took.

Seconds are processor time, and for solves with a stated delay the delay: what runs side by side does not wait on
another's account. That cores are slower when all are busy remains.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from fewsolves.problem import Array

ROOM = 2**28  # bytes of answers; one method's 200,000 decisions about 50 items take a third of it


class Memoised:
    """A batched function of arrays, deterministic; what was not asked for longest is forgotten."""

    def __init__(self, function: Callable[..., Array], delay: float = 0.0, *, room: int = ROOM) -> None:
        self.function, self.delay, self.room = function, delay, room
        self.charged = 0.0  # seconds of all answers so far, first asked for or again
        self.busy = 0.0  # processor time that they really took
        self._answers: OrderedDict[bytes, tuple[Array, float]] = OrderedDict()
        self._size = 0

    def __call__(self, *columns: Array) -> Array:
        digest = hashlib.blake2b(digest_size=16)
        for column in columns:
            digest.update(np.ascontiguousarray(column).tobytes())
        key = digest.digest()
        if key in self._answers:
            self._answers.move_to_end(key)
        else:
            began = time.process_time()
            answer = np.asarray(self.function(*columns))
            took = time.process_time() - began
            self.busy += took
            self._answers[key] = answer, max(took, self.delay * len(answer))
            self._size += answer.nbytes
            while self._size > self.room and len(self._answers) > 1:
                self._size -= self._answers.popitem(last=False)[1][0].nbytes
        answer, seconds = self._answers[key]
        self.charged += seconds
        return answer


class Clock:
    """The seconds since it was made: of everything, and of these the ones inside the functions."""

    def __init__(self, *functions: Memoised) -> None:
        self._functions = functions
        self._began = self._now()

    def _now(self) -> tuple[float, float]:
        inside = sum(one.charged for one in self._functions)
        return time.process_time() - sum(one.busy for one in self._functions) + inside, inside

    @property
    def total(self) -> float:
        return self._now()[0] - self._began[0]

    @property
    def inside(self) -> float:
        return self._now()[1] - self._began[1]
