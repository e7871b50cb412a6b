#!/usr/bin/env python3
"""
mtls.py: certificates of clients beside their keys (AUTH-22): who has none, one of another authority, one that is over, one for servers,
or one for another tenant is refused; names and fingerprints choose tenants; an authority is replaced with an overlap; the audit log
names the fingerprint; no header speaks for a certificate.  Certificates are OpenSSL's, the client is Python's.
usage: mtls.py WOPR [TEST...]
"""
import hashlib
import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile

from run import FAILED, KEY, WAIT_S, Host, expect, kit

RUNS, PUBLIC = "/v1/runs", "/.well-known/openwop"


def openssl(*args):
    return subprocess.run(["openssl", *args], check=True, capture_output=True, timeout=120).stdout


class Authority:
    def __init__(self, folder, name):
        self.folder, self.name, self.serial = folder, name, 0
        self.key, self.pem = self.path("key"), self.path("pem")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.key, "-out", self.pem,
                "-days", "2", "-subj", "/CN=" + name, "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign")

    def path(self, end):
        return os.path.join(self.folder, "%s.%s" % (self.name, end))

    def issue(self, name, cn, alt="", usage="clientAuth", days=("-days", "2")):
        """Paths of certificate and key, and the SHA-256 of the certificate."""
        self.serial += 1
        key, csr, pem, ext = (self.path("%s.%s" % (name, e)) for e in ("key", "csr", "pem", "ext"))
        with open(ext, "w", encoding="ascii") as f:
            f.write("basicConstraints=CA:FALSE\nextendedKeyUsage=%s\n" % usage + ("subjectAltName=%s\n" % alt if alt else ""))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", csr, "-subj", "/CN=" + cn)
        openssl("x509", "-req", "-in", csr, "-CA", self.pem, "-CAkey", self.key, "-set_serial", str(self.serial), "-out", pem, *days,
                "-extfile", ext)
        der = openssl("x509", "-in", pem, "-outform", "DER")
        return pem, key, hashlib.sha256(der).hexdigest()


class World:
    def __init__(self, folder):
        self.folder = folder
        self.server, self.ours, self.other = (Authority(folder, n) for n in ("servers", "ours", "other"))
        self.cert = self.server.issue("host", "localhost", "DNS:localhost,IP:127.0.0.1", "serverAuth")

    def rules(self, *clients, authorities=None, **more):
        bundle = os.path.join(self.folder, "authorities.pem")
        with open(bundle, "w", encoding="ascii") as f:
            for a in authorities or [self.ours]:
                with open(a.pem, encoding="ascii") as pem:
                    f.write(pem.read())
        path = os.path.join(self.folder, "clients.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"caFile": "authorities.pem", "clients": [{"match": m, "tenants": t} for m, t in clients], **more}, f)
        return path


class TlsHost(Host):
    def __init__(self, wopr, w, rules, *args, db=None):
        super().__init__(wopr, w.folder, ["--tls-cert", w.cert[0], "--tls-key", w.cert[1], *(["--tls-clients", rules] if rules else []), *args], {}, db)
        self.w = w

    def connect(self, cert=None):
        context = ssl.create_default_context(cafile=self.w.server.pem)
        if cert:
            context.load_cert_chain(cert[0], cert[1])
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=WAIT_S, context=context)

    def get(self, cert=None, path=RUNS, key=KEY, headers=(), connection=None):
        c = connection or self.connect(cert)
        c.request("GET", path, None, {**({"Authorization": "Bearer " + key} if key else {}), "Accept": "application/json", **dict(headers)})
        r = c.getresponse()
        body = json.loads(r.read() or b"{}")
        if not connection:
            c.close()
        return r.status, body


def refused(got, what):
    status, body = got
    expect(status == 401 and body["error"] == "unauthenticated" and body["details"].get("reason") == "invalid_token", "%s: %s %s" % (what, status, body))


def a_key_needs_a_certificate_that_a_rule_matches(wopr, w):
    fine = w.ours.issue("fine", "gateway", "DNS:gw.acme.example,URI:urn:acme:gw,email:gw@acme.example")
    h = TlsHost(wopr, w, w.rules(("DNS:GW.acme.example", ["default"])), "--audit-log", "all")
    expect(h.get(fine)[0] == 200, "a certificate of ours: %s" % (h.get(fine),))
    refused(h.get(None), "none")
    refused(h.get(w.other.issue("foreign", "gateway", "DNS:gw.acme.example")), "of another authority")
    refused(h.get(w.ours.issue("server", "gateway", "DNS:gw.acme.example", "serverAuth")), "for servers")
    refused(h.get(w.ours.issue("nobody", "gw.acme.example", "DNS:evil.example")), "with another name")
    refused(h.get(w.ours.issue("sub", "x", "DNS:gw.acme.example.evil.example,DNS:*.acme.example")), "with a longer name and a wildcard")
    refused(h.get(w.ours.issue("late", "gateway", "DNS:gw.acme.example", days=("-days", "-1"))), "that is over")
    for name in ("X-Client-Cert", "X-Forwarded-Client-Cert", "X-SSL-Client-Verify", "Client-Cert", "X-SSL-Client-S-DN"):
        refused(h.get(None, headers=[(name, "SUCCESS; CN=gateway; DNS=gw.acme.example; Hash=" + fine[2])]), name)
    status, body = h.get(fine, key="not-a-key-of-this-host-at-all")
    expect(status == 401 and "reason" not in body.get("details", {}), "a certificate is no credential: %s" % body)
    expect(h.get(fine, key=None)[0] == 401, "nor without a key")
    expect(h.get(None, PUBLIC, None)[0] == 200, "what needs no credential needs no certificate")
    auth = h.get(None, PUBLIC, None)[1]["auth"]
    expect("openwop-auth-mtls" in auth["profiles"] and auth["mtls"]["failure"] == "401", "discovery: %s" % auth)
    c = h.connect(fine)
    for _ in range(5):
        expect(h.get(connection=c)[0] == 200, "one connection, many requests")
    c.close()
    h.end()
    rows = [json.loads(line) for line in h.command("audit", "--from", "0").stdout.splitlines()]
    seen = [r for r in rows if r["type"] == "http.request" and r["status"] == 200]
    expect(seen and all((r["details"] or {}).get("clientCertificate") == fine[2] for r in seen), "audit by fingerprint: %s" % seen[:2])


def names_and_fingerprints_choose_tenants(wopr, w):
    a = w.ours.issue("t1", "one", "URI:urn:acme:one")
    b = w.ours.issue("t2", "two")
    c = w.ours.issue("t3", "three", "email:three@acme.example")
    print_of = ":".join(c[2][i:i + 2] for i in range(0, 64, 2)).upper()
    h = TlsHost(wopr, w, w.rules(("URI:urn:acme:one", ["default"]), ("CN:two", ["globex"]), ("SHA256:" + print_of, ["*"])))
    globex = h.command("keys", "create", "--no-expiry", "--scopes", "runs:read", "--tenant", "globex").stdout.split()[-1]
    expect(h.get(a)[0] == 200 and h.get(c)[0] == 200, "of the default tenant")
    refused(h.get(b), "of another tenant")
    expect(h.get(b, key=globex)[0] == 200 and h.get(c, key=globex)[0] == 200, "the same for the other: %s" % (h.get(b, key=globex),))
    refused(h.get(a, key=globex), "the other way round")
    h.end()


def an_authority_is_replaced_with_an_overlap(wopr, w):
    new = Authority(w.folder, "newer")
    one, two = w.ours.issue("o1", "gw", "DNS:gw.acme.example"), new.issue("o2", "gw", "DNS:gw.acme.example")
    rule = ("DNS:gw.acme.example", ["default"])
    db = None
    for authorities, allowed in (([w.ours], (True, False)), ([w.ours, new], (True, True)), ([new], (False, True))):
        h = TlsHost(wopr, w, w.rules(rule, authorities=authorities), db=db)
        db = h.db
        for cert, ok in zip((one, two), allowed):
            if ok:
                expect(h.get(cert)[0] == 200, "%d authorities" % len(authorities))
            else:
                refused(h.get(cert), "%d authorities" % len(authorities))
        h.end()


def without_the_setting_nothing_changes(wopr, w):
    h = TlsHost(wopr, w, None)
    expect(h.get(None)[0] == 200, "no certificate is asked for")
    expect("openwop-auth-mtls" not in json.dumps(h.get(None, PUBLIC, None)[1]), "nor advertised")
    h.end()


def settings_that_are_wrong_name_themselves(wopr, w):
    def said(path, *more):
        return kit.start_refused(wopr, w.folder, "--tls-clients", path, *more)

    tls = ("--tls-cert", w.cert[0], "--tls-key", w.cert[1])
    fine = ("DNS:a.example", ["t"])
    rc, out = said(w.rules(fine))
    expect(rc != 0 and "tls-clients" in out, "without TLS: " + out)
    cases = [(w.rules, (("a.example", ["t"]),), {}, "match"), (w.rules, (("SHA256:abc", ["t"]),), {}, "SHA-256"), (w.rules, (("DNS:a", []),), {}, "tenants"),
             (w.rules, (("DNS:a", ["*", "t"]),), {}, "tenants"), (w.rules, (), {}, "clients"), (w.rules, (fine,), {"caFile": "none.pem"}, "caFile"),
             (w.rules, (fine,), {"caFile": "clients.json"}, "caFile"), (w.rules, (fine,), {"more": 1}, "caFile and clients")]
    for make, clients, more, word in cases:
        rc, out = said(make(*clients, **more), *tls)
        expect(rc != 0 and word in out, "%s %s: %s" % (clients, more, out))
    rc, out = said(os.path.join(w.folder, "nothing.json"), *tls)
    expect(rc != 0 and "nothing.json" in out, out)


TESTS = [a_key_needs_a_certificate_that_a_rule_matches, names_and_fingerprints_choose_tenants, an_authority_is_replaced_with_an_overlap,
         without_the_setting_nothing_changes, settings_that_are_wrong_name_themselves]


def main():
    wopr, names = sys.argv[1], sys.argv[2:]
    for test in TESTS:
        if names and test.__name__ not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            test(wopr, World(folder))
    print("mtls: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
