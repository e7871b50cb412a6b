#!/usr/bin/env python3
"""
issuers.py: keys of token issuers at a URL (AUTH-21, AUTH-23): a server of key sets that rotates, hangs, resets, lies and never ends,
tokens signed by OpenSSL, and files of the operator that change while the host serves.
usage: issuers.py WOPR [TEST...]
"""
import base64
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

from run import FAILED, WAIT_S, Host, Server, expect, head_of

ISSUER = "https://id.example.com/realms/machines"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """An RSA key that OpenSSL made and signs with."""

    def __init__(self, folder, kid):
        self.kid, self.file = kid, os.path.join(folder, kid + ".pem")
        subprocess.run(["openssl", "genrsa", "-out", self.file, "2048"], check=True, capture_output=True, timeout=WAIT_S)
        text = subprocess.run(["openssl", "rsa", "-in", self.file, "-noout", "-modulus"], check=True, capture_output=True, timeout=WAIT_S).stdout
        n = bytes.fromhex(text.decode().strip().split("=")[1])
        self.jwk = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": b64(n), "e": "AQAB"}

    def token(self, **claims):
        now = int(time.time())
        said = {"iss": ISSUER, "aud": "wopr", "sub": "worker-1", "iat": now, "exp": now + 600, "scope": "runs:read", **claims}
        text = ".".join(b64(json.dumps(o).encode()) for o in ({"alg": "RS256", "kid": self.kid, "typ": "JWT"}, said))
        sign = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.file], input=text.encode(), check=True, capture_output=True, timeout=WAIT_S)
        return text + "." + b64(sign.stdout)


class Keys:
    """What the issuer's URL answers; how: a name of the methods below."""

    def __init__(self, *keys):
        self.keys, self.how = list(keys), "fine"
        self.server = Server(self.handle)
        self.url = "http://127.0.0.1:%d/keys" % self.server.port

    def asked(self):
        return len(self.server.heads)

    def handle(self, server, c):
        server.heads.append(head_of(c))
        getattr(self, self.how)(c)

    def answer(self, c, body, status="200 OK", more=""):
        c.sendall(("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n" % (status, len(body), more)).encode() + body)

    def fine(self, c):
        self.answer(c, json.dumps({"keys": [k.jwk for k in self.keys]}).encode())

    def error(self, c):
        self.answer(c, b"{}", "500 Oops")

    def redirect(self, c):
        self.answer(c, b"", "302 Found", "Location: %s\r\n" % self.url)

    def garbage(self, c):
        self.answer(c, b"<html>no keys</html>")

    def private(self, c):
        self.answer(c, json.dumps({"keys": [{**self.keys[0].jwk, "d": "AQAB"}]}).encode())

    def empty(self, c):
        self.answer(c, b'{"keys":[]}')

    def reset(self, c):
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def hang(self, c):
        c.settimeout(WAIT_S)
        c.recv(1)  # until the host gives up

    def endless(self, c):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        while True:
            c.sendall(b" " * 65536)


class IssuerHost(Host):
    def __init__(self, wopr, folder, issuer, args=("--egress-loopback",)):
        self.file = os.path.join(folder, "issuers.json")
        self.write(issuer)
        super().__init__(wopr, folder, ["--issuers", self.file, *args], {})

    def write(self, issuer):
        said = {"name": "machines", "profile": "client-credentials", "issuer": ISSUER, "audience": "wopr", "algorithms": ["RS256"],
                "tenant": "acme", **issuer}
        with open(self.file + ".new", "w", encoding="utf-8") as f:
            json.dump({"issuers": [said]}, f)
        os.replace(self.file + ".new", self.file)

    def status(self, token):
        status, headers, data = self.send("GET", "/v1/runs", key=token)
        self.said, self.retry = json.loads(data or b"{}"), headers.get("Retry-After")
        return status

    def until(self, token, want):
        end = time.monotonic() + WAIT_S
        while self.status(token) != want:
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True


def keys_rotate_without_a_restart(wopr, folder):
    old, new = Key(folder, "old"), Key(folder, "new")
    keys = Keys(old)
    h = IssuerHost(wopr, folder, {"jwksUrl": keys.url, "jwksRefreshSeconds": 1})
    expect(h.until(old.token(), 200), "the first key: %s" % h.said)
    expect(h.status(new.token()) == 401, "a key that is not published: %s" % h.said)
    keys.keys = [old, new]
    expect(h.until(new.token(), 200), "the new key, once it is published: %s" % h.said)
    expect(h.status(old.token()) == 200, "and the old one beside it: %s" % h.said)
    keys.keys = [new]
    expect(h.until(old.token(), 401), "the old one, once it is gone: %s" % h.said)
    expect(h.status(new.token()) == 200, "and the new one goes on: %s" % h.said)
    h.end()


def an_outage_changes_nothing(wopr, folder):
    key, other = Key(folder, "one"), Key(folder, "two")
    keys = Keys(key)
    h = IssuerHost(wopr, folder, {"jwksUrl": keys.url, "jwksRefreshSeconds": 1})
    expect(h.until(key.token(), 200), "before: %s" % h.said)
    for how in ("error", "redirect", "garbage", "private", "empty", "reset", "endless", "hang"):
        keys.how, before = how, keys.asked()
        end = time.monotonic() + WAIT_S
        while keys.asked() < before + 1 and time.monotonic() < end:
            time.sleep(0.1)
        began = time.monotonic()
        expect(h.status(key.token()) == 200, "%s: what was known goes on: %s" % (how, h.said))
        expect(h.status(other.token()) == 401, "%s: and nothing else: %s" % (how, h.said))
        expect(h.ask("GET", "/v1/runs")[0] == 200 and time.monotonic() - began < 5, "%s: API keys do not wait" % how)
        expect(keys.asked() > before, "%s: it was asked again" % how)
    keys.how, keys.keys = "fine", [key, other]
    expect(h.until(other.token(), 200), "afterwards the new keys come: %s" % h.said)
    expect("could not be fetched" in h.text(), "the log tells it")
    h.end()


def before_the_first_keys_come_nobody_is_refused_for_good(wopr, folder):
    key = Key(folder, "one")
    keys = Keys(key)
    keys.how = "error"
    h = IssuerHost(wopr, folder, {"jwksUrl": keys.url})
    expect(h.ask("GET", "/v1/runs")[0] == 200, "API keys are taken")
    expect(h.status(key.token()) == 503 and h.retry is not None, "try again: %s %s" % (h.said, h.retry))
    expect(h.status(key.token(iss="https://elsewhere")) == 401, "another issuer's token is wrong all the same: %s" % h.said)
    expect(h.status(key.token(aud="else")) == 401, "and one for others: %s" % h.said)
    keys.how = "fine"
    expect(h.until(key.token(), 200), "then it is: %s" % h.said)
    h.end()


def old_keys_are_not_believed_for_ever(wopr, folder):
    key = Key(folder, "one")
    keys = Keys(key)
    h = IssuerHost(wopr, folder, {"jwksUrl": keys.url, "jwksRefreshSeconds": 1, "jwksOutageSeconds": 4})
    expect(h.until(key.token(), 200), "before: %s" % h.said)
    keys.how = "error"
    expect(h.until(key.token(), 503), "after the time an outage may last: %s" % h.said)
    keys.how = "fine"
    expect(h.until(key.token(), 200), "and back: %s" % h.said)
    h.end()


def unknown_keys_are_looked_for_at_most_once_a_minute(wopr, folder):
    key, foreign = Key(folder, "one"), Key(folder, "foreign")
    keys = Keys(key)
    h = IssuerHost(wopr, folder, {"jwksUrl": keys.url, "jwksRefreshSeconds": 3600}, ("--egress-loopback", "--auth-failure-rate", "0"))
    expect(h.until(key.token(), 200), "before: %s" % h.said)
    tokens = [foreign.token(sub="s%d" % i) for i in range(5)]
    began = time.monotonic()
    for i in range(300):
        expect(h.status(tokens[i % 5]) == 401, "a foreign key: %s" % h.said)
    lasted = time.monotonic() - began
    expect(keys.asked() <= 2 + lasted / 60, "%d questions in %.1f s" % (keys.asked(), lasted))
    h.end()


def files_are_read_again_after_a_change(wopr, folder):
    one, two = Key(folder, "one"), Key(folder, "two")
    path = os.path.join(folder, "keys.json")

    def publish(*keys):
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump({"keys": [k.jwk for k in keys]}, f)
        os.replace(path + ".new", path)

    publish(one)
    h = IssuerHost(wopr, folder, {"jwksFile": "keys.json"})
    expect(h.status(one.token()) == 200 and h.status(two.token()) == 401, "as it began: %s" % h.said)
    publish(one, two)
    expect(h.until(two.token(), 200), "a key file that changed: %s" % h.said)
    h.write({"jwksFile": "keys.json", "disabledSubjects": ["worker-1"]})
    expect(h.until(one.token(), 401) and h.said["error"] == "key_revoked", "a subject that was disabled: %s" % h.said)
    expect(h.status(one.token(sub="worker-2")) == 200, "and no other: %s" % h.said)
    h.write({"jwksFile": "keys.json", "disabledSubjects": ["worker-1"], "tenant": "no/tenant"})
    end = time.monotonic() + WAIT_S
    while "not read again" not in h.text() and time.monotonic() < end:
        time.sleep(0.2)
    expect("not read again" in h.text(), "a file that is wrong is told")
    expect(h.status(one.token(sub="worker-2")) == 200 and h.status(one.token()) == 401, "and the one before stays: %s" % h.said)
    h.write({"jwksFile": "keys.json"})
    expect(h.until(one.token(), 200), "enabled again: %s" % h.said)
    h.end()


def what_cannot_be_asked_is_told_at_the_start(wopr, folder):
    for issuer, args, want in (
            ({"jwksUrl": "http://127.0.0.1:1/keys"}, (), "issuers[0].jwksUrl"),
            ({"jwksUrl": "http://id.example.com/keys"}, (), "not an https URL"),
            ({"jwksUrl": "https://10.0.0.1/keys"}, (), "private or reserved network"),
            ({"jwksUrl": "https://id.example.com/keys"}, ("--egress=false",), "nothing leaves this host"),
            ({"jwksUrl": "https://id.example.com/keys", "jwksFile": "k"}, (), "not both"),
            ({}, (), "must say where its public keys are"),
            ({"jwksUrl": "https://id.example.com/keys", "jwksRefreshSeconds": 0}, (), "must be 1 to 86400"),
            ({"jwksUrl": "https://id.example.com/keys", "jwksOutageSeconds": 60}, (), "must not be less")):
        try:
            IssuerHost(wopr, folder, issuer, args).end()
            expect(False, "it started with %s" % issuer)
        except RuntimeError as e:
            expect(want in str(e), "%s %s: %s" % (issuer, args, e))


def a_host_stops_while_a_server_hangs(wopr, folder):
    key = Key(folder, "one")
    keys = Keys(key)
    keys.how = "hang"
    h = IssuerHost(wopr, folder, {"jwksUrl": keys.url})
    end = time.monotonic() + WAIT_S
    while keys.asked() == 0 and time.monotonic() < end:
        time.sleep(0.05)
    began = time.monotonic()
    h.end()
    expect(h.p.returncode == 0 and time.monotonic() - began < 30, "it stopped after %.1f s" % (time.monotonic() - began))


TESTS = [keys_rotate_without_a_restart, an_outage_changes_nothing, before_the_first_keys_come_nobody_is_refused_for_good,
         old_keys_are_not_believed_for_ever, unknown_keys_are_looked_for_at_most_once_a_minute, files_are_read_again_after_a_change,
         what_cannot_be_asked_is_told_at_the_start, a_host_stops_while_a_server_hangs]


def main():
    wopr, names = sys.argv[1], sys.argv[2:]
    for t in TESTS:
        if names and t.__name__ not in names:
            continue
        began, before = time.monotonic(), len(FAILED)
        with tempfile.TemporaryDirectory() as folder:
            t(wopr, folder)
        print("%s %-60s %5.1f s" % ("ok  " if len(FAILED) == before else "FAIL", t.__name__, time.monotonic() - began), flush=True)
    print("issuers: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
