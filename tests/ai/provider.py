#!/usr/bin/env python3
"""
provider.py: a scripted provider of models on loopback, in both wire styles.  usage: provider.py PORT

POST /openai/chat/completions and POST /anthropic/messages answer with the text of the last message of the user,
in capitals; one token per word.  A message that begins with "!" plays a script instead: see SCRIPTS.  A tool
that is offered is called when the last message names it.  GET /seen: how often each text was asked.
"""
import json
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-test-canary-0123456789abcdef"
STATUSES = {"!400": 400, "!401": 401, "!404": 404, "!429": 429, "!500": 500, "!529": 529}


class Provider(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.lock, self.seen, self.bodies, self.heads = threading.Lock(), {}, [], []
        self.keys = {KEY}  # that are accepted
        self.gate = threading.Event()  # "!hold" waits for it
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def count(self, text):
        with self.lock:
            return self.seen.get(text, 0)

    def handle_error(self, request, client_address):
        pass  # a host that was killed


def openai_events(words, calls, usage):
    def chunk(delta, finish=None, **more):
        return None, {"id": "c1", "object": "chat.completion.chunk", "model": "tiny-1",
                      "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}

    yield chunk({"role": "assistant", "content": ""})
    for w in words:
        yield chunk({"content": w})
    for i, c in enumerate(calls):
        half = len(c["arguments"]) // 2
        yield chunk({"tool_calls": [{"index": i, "id": c["id"], "type": "function",
                                     "function": {"name": c["name"], "arguments": c["arguments"][:half]}}]})
        yield chunk({"tool_calls": [{"index": i, "function": {"arguments": c["arguments"][half:]}}]})
    yield chunk({}, "tool_calls" if calls else "stop")
    yield None, {"id": "c1", "object": "chat.completion.chunk", "model": "tiny-1", "choices": [],
                 "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}
    yield None, "[DONE]"


def anthropic_events(words, calls, usage):
    def event(kind, **more):
        return kind, {"type": kind, **more}

    yield event("message_start", message={"id": "m1", "type": "message", "role": "assistant", "model": "tiny-1",
                                          "content": [], "usage": {"input_tokens": usage[0], "output_tokens": 1}})
    yield event("ping")
    n = 0
    if words:
        yield event("content_block_start", index=n, content_block={"type": "text", "text": ""})
        for w in words:
            yield event("content_block_delta", index=n, delta={"type": "text_delta", "text": w})
        yield event("content_block_stop", index=n)
        n += 1
    for c in calls:
        yield event("content_block_start", index=n,
                    content_block={"type": "tool_use", "id": c["id"], "name": c["name"], "input": {}})
        half = len(c["arguments"]) // 2
        for part in (c["arguments"][:half], c["arguments"][half:]):
            yield event("content_block_delta", index=n, delta={"type": "input_json_delta", "partial_json": part})
        yield event("content_block_stop", index=n)
        n += 1
    yield event("message_delta", delta={"stop_reason": "tool_use" if calls else "end_turn"},
                usage={"output_tokens": usage[1]})
    yield event("message_stop")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, status, body, kind="application/json", length=None, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def do_GET(self):
        with self.server.lock:
            self.send(200, self.server.seen)

    # --- what was asked ---

    def asked(self, body, style):
        """The text of the last message."""
        last = body["messages"][-1]
        content = last["content"]
        if isinstance(content, list):
            part = content[0]
            content = part.get("text") or part.get("content") or ""
        return content or ""

    def tool_calls(self, body, style, text):
        tools = body.get("tools") or []
        names = [t["function"]["name"] if style == "openai" else t["name"] for t in tools]
        last = body["messages"][-1]
        if last["role"] != "user" or isinstance(last["content"], list):
            return []
        return [{"id": "call_%d" % i, "name": n, "arguments": json.dumps({"city": "Oslo"})}
                for i, n in enumerate(names) if n in text]

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw)
        style = "openai" if "openai" in self.path else "anthropic"
        text = self.asked(body, style)
        s = self.server
        with s.lock:
            s.seen[text] = s.seen.get(text, 0) + 1
            nth = s.seen[text]
            s.bodies.append((self.path, body))
            s.heads.append(dict(self.headers.items()))
        key = self.headers.get("Authorization", "")[7:] if style == "openai" else self.headers.get("x-api-key")
        if key not in s.keys:
            return self.send(401, {"error": {"message": "Incorrect API key provided: %s" % key}})
        word = text.split()[0] if text.split() else ""
        play = getattr(self, "play_" + word[1:], None) if word.startswith("!") else None
        if word in STATUSES:
            return self.refuse(STATUSES[word], nth, body, style, text)
        if play:
            return play(nth, body, style, text)
        return self.answer(body, style, text)

    # --- what is answered ---

    def answer(self, body, style, text):
        calls = self.tool_calls(body, style, text)
        words = [] if calls else [w + " " for w in text.upper().split()[:-1]] + text.upper().split()[-1:]
        usage = (sum(len(str(m["content"]).split()) for m in body["messages"]), max(1, len(words)))
        if body.get("stream"):
            return self.stream(style, words, calls, usage)
        said = "".join(words)
        if style == "openai":
            message = {"role": "assistant", "content": said or None}
            if calls:
                message["tool_calls"] = [{"id": c["id"], "type": "function",
                                          "function": {"name": c["name"], "arguments": c["arguments"]}} for c in calls]
            return self.send(200, {"id": "c1", "model": "tiny-1",
                                   "choices": [{"index": 0, "message": message,
                                                "finish_reason": "tool_calls" if calls else "stop"}],
                                   "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1],
                                             "total_tokens": sum(usage)}})
        content = [{"type": "text", "text": said}] if said else []
        content += [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": json.loads(c["arguments"])}
                    for c in calls]
        return self.send(200, {"id": "m1", "type": "message", "role": "assistant", "model": "tiny-1",
                               "content": content, "stop_reason": "tool_use" if calls else "end_turn",
                               "usage": {"input_tokens": usage[0], "output_tokens": usage[1]}})

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream_open(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def stream(self, style, words, calls, usage, delay=0.0, until=None, split=0):
        """until: how many events are sent before the stream stops short."""
        self.stream_open()
        events = (openai_events if style == "openai" else anthropic_events)(words, calls, usage)
        for i, (kind, data) in enumerate(events):
            if until is not None and i == until:
                return
            text = data if isinstance(data, str) else json.dumps(data)
            frame = (("event: %s\n" % kind if kind else "") + "data: %s\n\n" % text).encode()
            for at in range(0, len(frame), split or len(frame)):
                self.piece(frame[at:at + (split or len(frame))])
            if delay:
                time.sleep(delay)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    # --- scripts ---

    def refuse(self, status, nth, body, style, text):
        """The first time the status, then an answer."""
        again = "always" not in text and nth > 1
        if again:
            return self.answer(body, style, text)
        more = {"Retry_After": "1"} if status in (429, 529) else {}
        self.send(status, {"type": "error", "error": {"type": "scripted", "message": "scripted for %s" % KEY}}, **more)

    def play_hold(self, nth, body, style, text):
        self.server.gate.wait(60)
        self.answer(body, style, text)

    def play_echo(self, nth, body, style, text):
        """The credential that was sent, in a text, cut into pieces of as many characters as the message says."""
        key = self.headers.get("Authorization", "")[7:] if style == "openai" else self.headers.get("x-api-key")
        said = "x%s mine: %s, half: %s." % (key, key + key, key[:-1])
        size = int(text.split()[1])
        if body.get("stream"):
            return self.stream(style, [said[i:i + size] for i in range(0, len(said), size)],
                               [{"id": "t1", "name": "tell", "arguments": json.dumps({"key": key})}], (3, 9))
        message = {"role": "assistant", "content": said}
        self.send(200, {"id": "c1", "model": "tiny-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
                  if style == "openai" else
                  {"id": "m1", "type": "message", "role": "assistant", "model": "tiny-1", "stop_reason": "end_turn",
                   "content": [{"type": "text", "text": said}], "usage": {"input_tokens": 1, "output_tokens": 1}})

    def play_spell(self, nth, body, style, text):
        """The credential as JSON may spell it: in an answer, in an error, in arguments, in an error that is cut."""
        key = self.headers.get("Authorization", "")[7:] if style == "openai" else self.headers.get("x-api-key")
        spelled = "".join("\\u%04x" % ord(c) for c in key)
        where = text.split()[1]
        if where == "cut":
            self.stream_open()
            said = {"type": "error", "error": {"type": "overloaded_error", "message": "x" * 385 + key}}
            self.piece(("event: error\ndata: %s\n\n" % json.dumps(said)).encode())
            self.wfile.write(b"0\r\n\r\n")
        elif where == "error":
            self.send(400, b'{"type":"error","error":{"message":"no %s"}}' % spelled.encode())
        elif where == "arguments" and style == "openai":
            call = {"id": "t1", "type": "function", "function": {"name": "tell", "arguments": '{"key":"%s"}' % spelled}}
            self.send(200, {"id": "c1", "model": "tiny-1", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]})
        elif where == "arguments":
            self.send(200, b'{"id":"m1","type":"message","role":"assistant","model":"tiny-1","stop_reason":"tool_use","content":[{"type":"tool_use",'
                           b'"id":"t1","name":"tell","input":{"key":"%s"}}],"usage":{"input_tokens":1,"output_tokens":1}}' % spelled.encode())
        elif style == "openai":
            self.send(200, b'{"id":"c1","model":"tiny-1","choices":[{"index":0,"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}]}'
                      % spelled.encode())
        else:
            self.send(200, b'{"id":"m1","type":"message","role":"assistant","model":"tiny-1","stop_reason":"end_turn",'
                           b'"content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":1,"output_tokens":1}}' % spelled.encode())

    def play_stall(self, nth, body, style, text):
        time.sleep(60)

    def play_reset(self, nth, body, style, text):
        if nth > 1:
            return self.answer(body, style, text)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.close_connection = True
        self.connection.close()

    def play_short(self, nth, body, style, text):
        self.send(200, b'{"choices":[', length=500)
        self.close_connection = True

    def play_garbage(self, nth, body, style, text):
        self.send(200, b"<html>not JSON</html>", kind="text/html")

    def play_empty(self, nth, body, style, text):
        self.send(200, b"{}")

    def play_deep(self, nth, body, style, text):
        self.send(200, b"[" * 100000)

    def play_bomb(self, nth, body, style, text):
        self.send(200, b'{"choices":[{"message":{"content":"' + b"x" * (3 << 20) + b'"}}]}')

    def play_zip(self, nth, body, style, text):
        self.send(200, b"\x1f\x8b" + b"\0" * 64, Content_Encoding="gzip")

    def play_slow(self, nth, body, style, text):
        self.stream(style, [w + " " for w in text.split()], [], (3, 9), delay=0.15)

    def play_bytes(self, nth, body, style, text):
        self.stream(style, ["Grüße ", "\U0001f30d ", "Ωmega"], [], (3, 3), split=1)

    def play_fast(self, nth, body, style, text):
        self.stream(style, ["w%d " % i for i in range(2000)], [], (3, 2000))

    def play_broken(self, nth, body, style, text):
        """A stream that stops short the first time."""
        self.close_connection = True
        self.stream(style, [w + " " for w in text.split()], [], (3, 9), delay=0.05, until=6 if nth == 1 else None)

    def play_halt(self, nth, body, style, text):
        """A stream that stops in the middle, the first time, until the gate opens."""
        words = [w + (" " if nth == 1 else "! ") for w in text.split()]
        if nth > 1:
            return self.stream(style, words, [], (3, 9))
        self.close_connection = True
        self.stream(style, words, [], (3, 9), until=6)
        self.server.gate.wait(60)

    def play_malformed(self, nth, body, style, text):
        self.stream_open()
        self.piece(b"data: {\"choices\":[{\"delta\":\n\n")
        self.piece(b"0\r\n\r\n")

    def play_inline(self, nth, body, style, text):
        """An error in the middle of a stream."""
        if nth > 1:
            return self.answer(body, style, text)
        self.stream_open()
        self.piece(b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def play_endless(self, nth, body, style, text):
        self.stream_open()
        for _ in range(100000):
            self.piece(b": " + b"x" * 60000 + b"\n")

    def play_line(self, nth, body, style, text):
        self.stream_open()
        for _ in range(400):
            self.piece(b"data: " + b"x" * 60000)


if __name__ == "__main__":
    Provider(int(sys.argv[1]))
    threading.Event().wait()
