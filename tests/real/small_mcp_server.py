"""
A small MCP server with one tool and one resource, for tests: over stdio as a program, or over HTTP.

As a program, ``python small_mcp_server.py``, it speaks lines of JSON on stdin and
stdout. :class:`HttpServer` says the same over HTTP, from a thread of the test.
It knows nothing of claude_sync and needs the standard library only.
"""

from __future__ import annotations

import http.server
import json
import sys
import threading

DOUBLE = {
    "name": "double",
    "description": "Twice a number.",
    "inputSchema": {
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
    },
}


def reply_to(message):
    """What answers a JSON-RPC message; None for a notification."""
    if "id" not in message:
        return None
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "small", "version": "1"},
        }
    elif method == "resources/list":
        result = {"resources": [{"uri": "ui://sign", "name": "sign"}]}
    elif method == "resources/read":
        sign = {"uri": params["uri"], "mimeType": "text/plain", "text": "a sign"}
        result = {"contents": [sign]}
    elif method == "ping":
        result = {}
    elif method == "tools/list":
        result = {"tools": [DOUBLE]}
    elif method == "tools/call":
        text = str(2 * params["arguments"]["number"])
        result = {"content": [{"type": "text", "text": text}]}
    else:
        error = {"code": -32601, "message": f"no method {method}"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class HttpServer:
    """The same on a free port of 127.0.0.1, as a context manager; ``url`` is its address."""

    def __init__(self):
        self._server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.url = f"http://127.0.0.1:{self._server.server_port}/mcp"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc_info):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    """One request of HTTP; the connection ends with it."""

    def do_POST(self):
        """A JSON-RPC message."""
        length = int(self.headers["content-length"])
        reply = reply_to(json.loads(self.rfile.read(length)))
        if reply is None:
            self._send(202, b"")
        else:
            self._send(200, json.dumps(reply).encode())

    def do_GET(self):
        """A client wants to listen; this server never says anything by itself."""
        self._send(405, b"")

    def do_DELETE(self):
        """A client ends its session; there is none."""
        self._send(405, b"")

    def _send(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Nothing is printed."""


def main():
    """Answer each line until the input ends."""
    for line in sys.stdin:
        reply = reply_to(json.loads(line))
        if reply is not None:
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
