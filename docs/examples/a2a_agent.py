#!/usr/bin/env python3
"""An A2A agent with one skill, of the standard library: python3 a2a_agent.py PORT"""
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

PORT = int(sys.argv[1])
CARD = {"protocolVersion": "0.3.0", "name": "greeter", "url": "http://127.0.0.1:%d" % PORT, "version": "1",
        "capabilities": {"streaming": False}, "skills": [{"id": "greet", "name": "Greets"}]}
TASKS = {}


def said(text):
    return {"role": "agent", "parts": [{"kind": "text", "text": text}]}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        task = TASKS.get(self.path.rsplit("/", 1)[-1])
        if self.path == "/agent.json":
            self.answer(CARD)
        else:
            self.answer(task or {"error": "not_found"}, 200 if task else 404)

    def do_POST(self):
        print(self.path, flush=True)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tasks":
            task = {"taskId": "t%d" % (len(TASKS) + 1), "state": "INPUT_REQUIRED", "messages": [said("Whom shall I greet?")],
                    "words": asked["input"]["words"]}
            TASKS[task["taskId"]] = task
        else:  # /tasks/ID/messages
            task = TASKS[self.path.split("/")[2]]
            task.update(state="COMPLETED", messages=[said("%s, %s" % (task["words"], asked["message"]["parts"][0]["text"]))])
        self.answer(task)

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
