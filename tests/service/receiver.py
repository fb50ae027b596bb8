"""A receiver of webhooks, in a thread."""

import contextlib
import http.server
import threading


class Receiver:
    """Takes what is posted to it, and answers with `status`."""

    def __init__(self):
        self.status = 200
        self.taken = []
        self.wait = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                receiver.taken.append((dict(self.headers), body, self.path))
                if receiver.status == 0:  # never
                    receiver.wait.wait(120)
                    return
                self.send_response(receiver.status)
                if 300 <= receiver.status < 400:
                    self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.end_headers()
                if receiver.status == 202:  # a lying one: its answer never ends
                    with contextlib.suppress(OSError):
                        while not receiver.wait.wait(0.01):
                            self.wfile.write(b"x" * 1000)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.wait.set()
        self.server.shutdown()
        self.server.server_close()
