"""Services as processes of their own, which may be killed at any moment.

They come from a server of forks that has imported everything, so that a hundred starts do not
take a hundred times two seconds. Each runs what `latesum serve` runs.
"""

import contextlib
import multiprocessing
import os
import random
import signal
import socket
import time
import urllib.request
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["latesum.cli.serve", "latesum.service.app", "granian", "psycopg", "service_process"]
)


#: Ports that no system gives to a connection by itself: one of those could be anyone's when it is used.
_PORTS = range(20_000, 30_000)


def free_port():
    """A port on which nothing listens, from the part of the range that is for this worker of pytest."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    own = _PORTS[worker % 20 * 500 :][:500]
    for port in random.SystemRandom().sample(own, len(own)):
        with contextlib.suppress(OSError), socket.socket() as found:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("there is no free port")


def _end_with_tests():
    multiprocessing.parent_process().join()
    os.kill(os.getpid(), signal.SIGKILL)


def _serve(address, port, files, log, configured, more):
    import functools
    import resource
    import sys
    import threading

    from latesum import service
    from latesum.cli.serve import serve

    multiprocessing.set_start_method("fork", force=True)  # as where `latesum serve` is run
    threading.Thread(target=_end_with_tests, daemon=True).start()
    service.Configuration = functools.partial(service.Configuration, **configured)

    if files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    written = open(log, "w")  # noqa: PTH123, SIM115 - for as long as the process lives
    sys.stdout = sys.stderr = written
    os.dup2(written.fileno(), 2)
    serve(
        host="127.0.0.1",
        port=port,
        store=address,
        **{"log_level": "error", **more},
    )


class ServiceProcess:
    """A service on a port of its own, with at most this many open files; its log goes to a file.

    What no option of the command sets may be configured.
    """

    def __init__(self, address, port=None, files=None, log=os.devnull, configured=None, **more):
        self._given = (str(address), port or free_port(), files, str(log), configured or {}, more)
        self.url = f"http://127.0.0.1:{self._given[1]}"
        self.process = None

    def start(self, wait=True):
        self.process = _CONTEXT.Process(target=_serve, args=self._given)
        self.process.start()
        if wait:
            self.wait()
        return self

    def wait(self, seconds=300):
        """Until it answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.url}/livez", timeout=60).close()
                return
            if not self.process.is_alive():
                raise RuntimeError(f"the service ended with {self.process.exitcode}")
            time.sleep(0.01)
        raise RuntimeError("the service does not answer")

    def connect(self):
        """A socket to it."""
        return socket.create_connection(("127.0.0.1", self._given[1]), timeout=60)

    def serving(self):
        """The process that answers requests; another one watches over it."""
        pid = self.process.pid
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(found[0]) if found else None

    def kill(self):
        """kill -9 of the process that serves, and of the one that watches over it."""
        if self.process.is_alive():
            serving = self.serving()
            if serving is not None:
                os.kill(serving, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self._wait_until_free()

    def _wait_until_free(self):
        """The process that served is no child of this one: only its port says when it has ended."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", self._given[1]))
                return
            time.sleep(0.005)

    def stop(self):
        """SIGTERM, and its exit code."""
        self.process.terminate()
        self.process.join(120)
        return self.process.exitcode

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.is_alive():
            self.kill()
