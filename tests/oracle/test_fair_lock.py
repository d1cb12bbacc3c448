import threading
import time

import pytest

from fewsolves.oracle.fair_lock import FairLock

pytestmark = pytest.mark.portable


def test_fair_lock_serves_one_at_a_time():
    lock, inside, most = FairLock(), 0, 0

    def works():
        nonlocal inside, most
        for _ in range(50):
            with lock:
                inside += 1
                most = max(most, inside)
                time.sleep(0)
                inside -= 1

    threads = [threading.Thread(target=works) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_fair_lock_does_not_serve_one_caller_twice_while_another_waits():
    lock, order, waits = FairLock(), [], threading.Event()

    def other():
        waits.set()
        with lock:
            order.append("other")

    thread = threading.Thread(target=other)
    with lock:
        thread.start()
        waits.wait()
        time.sleep(0.05)  # it is in the queue by now
    with lock:
        order.append("again")
    thread.join()
    assert order == ["other", "again"]


def test_fair_lock_is_free_again_after_an_error():
    lock = FairLock()
    with pytest.raises(RuntimeError), lock:
        raise RuntimeError
    with lock:
        pass
