#!/usr/bin/env python3
"""A model with a script, for examples without a provider: python3 model_server.py PORT

POST /v1/chat/completions in the OpenAI style, streamed or not.  Its script: convert the first number of the task with
the tool to-celsius, note the result, ask a person, and answer.
"""
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def script(messages):
    """What comes next: a text, and a call of a tool (name, arguments) or None."""
    task = [m["content"] for m in messages if m["role"] == "user"][0]
    got = [m["content"] for m in messages if m["role"] == "tool"]
    number = re.search(r"-?\d+(\.\d+)?", task)
    if not number:
        return "There is no temperature in that.", None
    if not got:
        return "I convert that first.", ("to-celsius", {"fahrenheit": float(number[0])})
    degrees = re.sub(r"<[^>]*>", "", got[0])
    if len(got) == 1:
        return "", ("note", {"text": degrees})
    if len(got) == 2:
        return "Now I ask whoever wants to know.", ("ask", {"question": "It is %s. Are you going out?" % degrees})
    return "It is %s; you said: %s." % (degrees, got[2]), None


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text, call = script(asked["messages"])
        print(call[0] if call else "answer", flush=True)
        calls = [{"index": 0, "id": "call_%d" % len(asked["messages"]), "type": "function",
                  "function": {"name": call[0], "arguments": json.dumps(call[1])}}] if call else []
        finish = "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": sum(len(str(m.get("content")).split()) for m in asked["messages"]), "completion_tokens": len(text.split()) + 1}
        if not asked.get("stream"):
            message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
            self.begin("application/json")
            self.wfile.write(json.dumps({"model": "scripted", "choices": [{"message": message, "finish_reason": finish}], "usage": usage}).encode())
            return
        self.begin("text/event-stream")
        for word in re.findall(r"\S+\s*", text):
            self.event({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
        self.event({"choices": [{"index": 0, "delta": {"tool_calls": calls} if calls else {}, "finish_reason": finish}]})
        self.event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def begin(self, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def event(self, data):
        self.wfile.write(b"data: %s\n\n" % json.dumps({"model": "scripted", **data}).encode())
        self.wfile.flush()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
