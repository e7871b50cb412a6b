"""A receiver of webhooks, with the standard library alone.  usage: webhook_receiver.py SECRET [PORT]"""
import hashlib
import hmac
import http.server
import json
import sys
import time

SECRET = sys.argv[1].encode()
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 9123
SKEW_S = 300
seen = set()  # a real one keeps this in its database


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        stamp = self.headers["X-openwop-Timestamp"]
        mac = hmac.new(SECRET, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        good = hmac.compare_digest("sha256=" + mac, self.headers["X-openwop-Signature"])
        if not good or abs(time.time() - int(stamp)) > SKEW_S:
            self.answer(401)
            return
        event = json.loads(body)["event"]
        delivery = (self.headers["X-openwop-Webhook-Id"], event["runId"], event["sequence"])
        if delivery not in seen:
            seen.add(delivery)
            print(event["type"], event["runId"], flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Hook).serve_forever()
