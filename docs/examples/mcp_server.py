#!/usr/bin/env python3
"""An MCP server with one tool, of the standard library: python3 mcp_server.py PORT"""
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

TOOL = {"name": "to-celsius", "description": "Degrees Fahrenheit to Celsius.",
        "inputSchema": {"type": "object", "properties": {"fahrenheit": {"type": "number", "minimum": -459.67}}, "required": ["fahrenheit"]}}


def result(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": {"name": "example", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call" and params["name"] == TOOL["name"]:
        celsius = (params["arguments"]["fahrenheit"] - 32) * 5 / 9
        return {"content": [{"type": "text", "text": "%.1f degrees Celsius" % celsius}], "isError": False}
    return None


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in asked:  # a notification
            self.answer(202, b"")
            return
        print(asked["method"], flush=True)
        said = result(asked["method"], asked.get("params", {}))
        more = {"result": said} if said else {"error": {"code": -32601, "message": "no such method or tool"}}
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], **more}).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
