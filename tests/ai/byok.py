#!/usr/bin/env python3
"""
byok.py: credentials that runs bring (NODE-5, CAP-19, CAP-20, CAP-36 to CAP-39, GEN-6, OBS-75): whose is sent, which
policies admit, and that no output and no file holds one, whatever a provider does with it.
usage: byok.py WOPR [PART...]
"""
import hashlib
import json
import os
import sqlite3
import sys
import tempfile
import time

from provider import KEY as OPERATOR_KEY, Provider
from run import FAILED, Host, code, expect, kit, outputs

TENANT_KEY = "tk-canary-of-the-tenant-93f1c07d"
USER_KEY = "tk-canary-of-a-user-5be20a44e1"
OTHER_KEY = "tk-canary-of-another-provider-77"
WRONG_KEY = "tk-canary-that-is-not-accepted-0d"
CANARIES = (TENANT_KEY, USER_KEY, OTHER_KEY, WRONG_KEY, OPERATOR_KEY)
STYLES = ("openai", "anthropic")


def providers_file(folder, port, policies=None, **more):
    key = os.path.join(folder, "provider.key")
    with open(key, "w", encoding="ascii") as f:
        f.write(OPERATOR_KEY + "\n")
    os.chmod(key, 0o600)
    url = "http://127.0.0.1:%d/" % port
    rows = [{"name": s, "style": s, "url": url + s, "model": "tiny", "keyFile": key, "byok": True} for s in STYLES]
    rows.append({"name": "ours", "style": "openai", "url": url + "openai", "model": "tiny", "keyFile": key})
    rows.append({"name": "theirs", "style": "openai", "url": url + "openai", "model": "tiny", "byok": True})
    path = os.path.join(folder, "providers.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"providers": rows, **({"policies": policies} if policies is not None else {}), **more}, f)
    return path


def secrets(h, *args, value=None):
    p = h.command("secrets", *args, input=value)
    return p.returncode, p.stdout + p.stderr


def stored(h, name, value, *args):
    rc, said = secrets(h, "set", name, *args, value=value + "\n")
    expect(rc == 0 and value not in said, "set %s: %s" % (name, said))


def run_of(h, config, ai=None, **more):
    status, got = h.ask("POST", "/v1/runs", {"workflowId": h.put(config, **more), "configurable": {"ai": ai} if ai else {}})
    return h.wait(got["runId"]) if status == 201 else (status, got)


def sent(p):
    head = p.heads[-1]
    return head.get("Authorization", "")[7:] or head.get("x-api-key")


def details(snap):
    return (snap.get("error") or {}).get("details", {})


def commands(h, p):
    rc, said = secrets(h, "set", "k", value="short\n", *("--provider", "openai"))
    expect(rc == 2 and "8" in said, "a key of five characters: " + said)
    for args, value in ((["set", "with blank"], "0123456789"), (["set", "k", "--kind", "what"], "0123456789"), (["set", "k"], ""),
                        (["set", "k"], "two\nlines"), (["set", "k", "--kind", "ai-provider"], "0123456789"),
                        (["set", "k", "--issuer", "i"], "0123456789"), (["set", "k", "--provider", "o"], 'quo"te-and-more')):
        rc, said = secrets(h, *args, value=value)
        expect(rc == 2 and "wopr: " in said and (not value or value not in said), "%s %r: %d %s" % (args, value, rc, said))
    rc, said = secrets(h, "delete", "nobody")
    expect(rc == 1 and "no such credential" in said, said)
    stored(h, "cred-one", TENANT_KEY, "--provider", "openai")
    stored(h, "cred-two", TENANT_KEY, "--provider", "anthropic")
    stored(h, "foreign", OTHER_KEY, "--provider", "somebody")
    stored(h, "wrong", WRONG_KEY, "--provider", "openai")
    stored(h, "bare", TENANT_KEY, "--provider", "theirs")
    rc, said = secrets(h, "list")
    expect(rc == 0 and all(n in said for n in ("cred-one", "foreign", "ai-provider", "openai")), said)
    expect(not any(c in said for c in CANARIES), "a list shows a value")
    expect(len({r[0] for r in sqlite3.connect(h.database).execute("SELECT box FROM credentials")}) == 5, "each box is its own")


def whose(h, p):
    """The reference of the run before that of the node, both before the key of the operator."""
    for s, name in (("openai", "cred-one"), ("anthropic", "cred-two")):
        snap = run_of(h, {"provider": s, "prompt": "hello"}, {"provider": s, "credentialRef": name})
        expect(snap["status"] == "completed" and sent(p) == TENANT_KEY, "%s: %s" % (s, snap))
        expect(name not in json.dumps(snap.get("configurable")), "a reference is shown: %s" % snap.get("configurable"))
    snap = run_of(h, {"prompt": "hello"}, {"provider": "anthropic", "credentialRef": "cred-two", "model": "large"})
    expect(sent(p) == TENANT_KEY and p.bodies[-1][0] == "/anthropic/messages" and p.bodies[-1][1]["model"] == "large", str(snap))
    snap = run_of(h, {"provider": "openai", "prompt": "hello"})
    expect(snap["status"] == "completed" and sent(p) == OPERATOR_KEY, str(snap))
    snap = run_of(h, {"provider": "openai", "prompt": "hello"}, {"credentialRef": "foreign"})
    expect(snap["status"] == "completed" and sent(p) == OPERATOR_KEY, "a credential of another provider is none: %s" % snap)
    snap = run_of(h, {"provider": "theirs", "prompt": "hello"}, {"credentialRef": "bare"})
    expect(snap["status"] == "completed" and sent(p) == TENANT_KEY, str(snap))
    snap = run_of(h, {"provider": "theirs", "prompt": "hello"})
    expect(code(snap) == "credential_required" and details(snap)["requirement"]["kind"] == "ai-provider", str(snap))
    snap = run_of(h, {"provider": "openai", "prompt": "hello"}, {"credentialRef": "nobody-has-it"})
    expect(code(snap) == "credential_required" and "nobody-has-it" not in json.dumps(snap), str(snap))
    snap = run_of(h, {"provider": "openai", "prompt": "hello"}, {"credentialRef": "wrong"})
    expect(code(snap) == "credential_unavailable" and WRONG_KEY not in json.dumps(snap), "a refusal repeats the key: %s" % snap)
    status, got = run_of(h, {"provider": "ours", "prompt": "hello"}, {"provider": "ours", "credentialRef": "cred-one"})
    expect(status == 403 and got["error"] == "credential_forbidden", str(got))
    snap = run_of(h, {"provider": "openai", "prompt": "hello"}, {"model": "m" * 4000})
    expect(code(snap) == "validation_error", "a model that is no name is not left out: %s" % code(snap))
    status, got = run_of(h, {"prompt": "hello"}, {"provider": "unheard-of"})
    expect(status == 400 and got["error"] == "validation_error", str(got))
    node = dict(config={"provider": "openai", "prompt": "hello"})
    wf = {"id": "w%d" % time.monotonic_ns(), "name": "W", "version": "1", "edges": [], "triggers": [], "variables": [], "metadata": {},
          "settings": {}, "nodes": [{"id": "n", "typeId": "core.ai.callPrompt", "name": "N", "position": {"x": 0, "y": 0},
                                     "inputs": {}, "credentialsRef": "cred-one", **node}]}
    expect(h.ask("PUT", "/v1/host/wopr/workflows/" + wf["id"], wf)[0] in (200, 201), "put")
    snap = h.wait(h.ask("POST", "/v1/runs", {"workflowId": wf["id"]})[1]["runId"])
    expect(snap["status"] == "completed" and sent(p) == TENANT_KEY, "the reference of the node: %s" % snap)


def users(h, p):
    """A credential of the subject before that of its tenant; of nobody else."""
    out = h.command("keys", "create", "--no-expiry", "--scopes", "all")
    key, key_id = out.stdout.strip(), out.stderr.split()[2].rstrip(",")
    stored(h, "cred-one", USER_KEY, "--provider", "openai", "--subject", key_id)
    config = {"provider": "openai", "prompt": "hello"}
    body = {"workflowId": h.put(config), "configurable": {"ai": {"credentialRef": "cred-one"}}}
    status, got = h.ask("POST", "/v1/runs", body, Authorization="Bearer " + key)
    expect(status == 201 and h.wait(got["runId"])["status"] == "completed" and sent(p) == USER_KEY, str(got))
    status, fork = h.ask("POST", "/v1/runs/%s:fork" % got["runId"], {"mode": "branch", "fromSeq": 1})
    expect(status == 201 and h.wait(fork["runId"])["status"] == "completed", str(fork))
    expect(sent(p) == TENANT_KEY, "who branches the run of another has no use of that one's credential")
    status, fork = h.ask("POST", "/v1/runs/%s:fork" % fork["runId"], {"mode": "branch", "fromSeq": 1}, Authorization="Bearer " + key)
    expect(h.wait(fork["runId"])["status"] == "completed" and sent(p) == USER_KEY, "and has the own one: %s" % fork)
    status, got = h.ask("POST", "/v1/runs", body)
    expect(status == 201 and h.wait(got["runId"])["status"] == "completed" and sent(p) == TENANT_KEY, str(got))
    expect(secrets(h, "delete", "cred-one", "--subject", key_id)[0] == 0, "delete")
    status, got = h.ask("POST", "/v1/runs", body, Authorization="Bearer " + key)
    expect(h.wait(got["runId"])["status"] == "completed" and sent(p) == TENANT_KEY, "the next request sees the change")


def echoes(h, p):
    """A provider that repeats the credential, cut anywhere."""
    for s, name in (("openai", "cred-one"), ("anthropic", "cred-two")):
        for size in (0, 1, 2, 3, 7, 31, 32, 33, 200):
            config = {"provider": s, "prompt": "!echo %d" % max(size, 1), "expectsStreaming": size > 0, "tools": [{"name": "tell"}]}
            snap = run_of(h, config, {"credentialRef": name})
            want = "x[REDACTED] mine: [REDACTED][REDACTED], half: %s." % TENANT_KEY[:-1]
            expect(outputs(snap).get("text") == want, "%s %d: %s" % (s, size, snap))
            chunks = [e["payload"] for e in h.events(snap["runId"]) if e["type"] == "output.chunk"]
            expect("".join(c["chunk"] for c in chunks) == want, "%s %d: %s" % (s, size, chunks))
            expect(TENANT_KEY not in json.dumps(h.events(snap["runId"])), "%s %d: an event holds the credential" % (s, size))


def spellings(h, p):
    """A provider that repeats the credential as JSON may spell it."""
    for s, name in (("openai", "cred-one"), ("anthropic", "cred-two")):
        for where in ("text", "error", "arguments", "cut"):
            snap = run_of(h, {"provider": s, "prompt": "!spell " + where, "expectsStreaming": where == "cut", "tools": [{"name": "tell"}]},
                          {"credentialRef": name})
            seen = json.dumps([snap, h.events(snap["runId"])]).encode().decode("unicode_escape").encode().decode("unicode_escape")
            expect("REDACTED" in seen if where != "cut" else code(snap) != "completed", "%s %s: %s" % (s, where, snap))
            expect(TENANT_KEY[:10] not in seen, "%s %s: %s" % (s, where, snap))


def replays(h, p):
    """Neither a replay nor a second fold of what is known needs the credential again."""
    snap = run_of(h, {"provider": "openai", "prompt": "once upon"}, {"credentialRef": "cred-one"})
    expect(secrets(h, "delete", "cred-one")[0] == 0, "delete")
    again = h.wait(h.fork(snap["runId"]))
    expect(outputs(again) == outputs(snap) and p.count("once upon") == 1, str(again))
    gone = run_of(h, {"provider": "openai", "prompt": "once more"}, {"credentialRef": "cred-one"})
    expect(code(gone) == "credential_required" and p.count("once more") == 0, str(gone))
    failed = h.wait(h.fork(gone["runId"]))
    expect(code(failed) == "credential_required", "a replay fails as its source did: %s" % failed)
    stored(h, "cred-one", TENANT_KEY, "--provider", "openai")
    failed = h.wait(h.fork(gone["runId"]))
    expect(code(failed) == "credential_required" and p.count("once more") == 0, "also when it is there now: %s" % failed)


def kills(h, p):
    """A host that dies while the provider has the request asks again, with the credential of then."""
    status, got = h.ask("POST", "/v1/runs", {"workflowId": h.put({"provider": "openai", "prompt": "!hold on"}),
                                            "configurable": {"ai": {"credentialRef": "cred-one"}}})
    for _ in range(1000):
        if p.count("!hold on"):
            break
        time.sleep(0.01)
    h.kill()
    p.gate.set()
    h.launch()
    snap = h.wait(got["runId"])
    expect(snap["status"] == "completed" and sent(p) == TENANT_KEY, str(snap))


def rotation(h, p):
    """The key of the installation changes; what is stored stays, and a row that was moved does not open."""
    out = h.command("seal", "rotate")
    expect(out.returncode == 0, out.stderr)
    h.kill()
    h.launch()
    snap = run_of(h, {"provider": "openai", "prompt": "hello"}, {"credentialRef": "cred-one"})
    expect(snap["status"] == "completed" and sent(p) == TENANT_KEY, str(snap))
    done = h.command("verify")
    expect(done.returncode == 0, done.stdout)
    db = sqlite3.connect(h.database, timeout=30)
    kept = db.execute("SELECT key_no, box, updated_ms FROM credentials WHERE name = 'foreign'").fetchone()
    db.execute("UPDATE credentials SET (key_no, box, updated_ms) = (SELECT key_no, box, updated_ms FROM credentials WHERE name = 'cred-one') "
               "WHERE name = 'foreign'")
    db.commit()
    snap = run_of(h, {"provider": "openai", "prompt": "hello"}, {"credentialRef": "foreign"})
    expect(code(snap) == "credential_unavailable", "a box of another row: %s" % snap)
    done = h.command("verify")
    expect(done.returncode != 0 and "foreign" in done.stdout and "does not open" in done.stdout, done.stdout)
    db.execute("UPDATE credentials SET key_no = ?, box = ?, updated_ms = ? WHERE name = 'foreign'", kept)
    db.commit()
    db.close()


def canary(h, folder, port):
    """No output and no file holds a credential."""
    runs = h.ask("GET", "/v1/runs?limit=100")[1]["runs"]
    expect(len(runs) > 30, "runs to look at: %d" % len(runs))
    for r in runs:
        for path in ("", "/events", "/debug-bundle"):
            status, got = h.ask("GET", "/v1/runs/" + r["runId"] + path, Accept="application/json")
            text = json.dumps(got)
            expect(status == 200 and not any(c in text for c in CANARIES), "%s%s holds a credential" % (r["runId"], path))
    said = h.text()
    for c in CANARIES + tuple(hashlib.sha256(c.encode()).hexdigest() for c in CANARIES):
        for root, _, names in os.walk(folder):
            for n in names:
                with open(os.path.join(root, n), "rb") as f:
                    expect(n == "provider.key" or c.encode() not in f.read(), "%s is in %s" % (c[:24], n))
        expect(c not in said, "%s is in the log" % c[:24])


def policies(wopr, folder, p):
    rules = [{"provider": "anthropic", "mode": "disabled", "tenants": ["default"]}, {"provider": "*", "mode": "optional"},
             {"provider": "openai", "mode": "required"}, {"provider": "openai", "mode": "disabled", "tenants": ["another"]},
             {"provider": "ours", "mode": "restricted", "allowedModels": ["tiny-*", "large?"]},
             {"provider": "theirs", "mode": "restricted"}]
    h = Host(wopr, folder, "--egress-loopback", "--ai-providers", providers_file(folder, p.port, rules, policyErrorCode="not_here"),
             "--audit-log", "changes")
    stored(h, "cred-one", TENANT_KEY, "--provider", "openai")
    ai = h.ask("GET", "/.well-known/openwop")[1]["aiProviders"]
    expect(ai["supported"] == ["openai", "anthropic", "ours", "theirs"] and ai["byok"] == ["openai", "anthropic", "theirs"], str(ai))
    expect(sorted(ai["policies"]["modes"]) == ["disabled", "optional", "required", "restricted"], str(ai))
    expect(ai["policies"]["errorCode"] == "not_here", str(ai))
    before, decided = len(p.bodies), []
    for config, run, reason in (
            ({"provider": "anthropic"}, None, "provider_disabled"),
            ({"provider": "anthropic"}, {"credentialRef": "cred-one"}, "provider_disabled"),
            ({"provider": "openai"}, None, "byok_required"),
            ({"provider": "openai"}, {"credentialRef": "nobody"}, "byok_required_but_unresolved"),
            ({"provider": "ours"}, None, "model_not_allowed"),
            ({"provider": "ours", "model": "large12"}, None, "model_not_allowed"),
            ({"provider": "theirs"}, None, "model_not_allowed")):
        snap = run_of(h, {"prompt": "hello", **config}, run)
        expect(code(snap) == "not_here" and details(snap).get("reason") == reason, "%s %s: %s" % (config, reason, snap))
        decided.append({"decision": "denied", "provider": config["provider"], "reason": reason, "runId": snap["runId"]})
        if config["provider"] == "ours":
            expect(details(snap)["allowed"] == ["tiny-*", "large?"], str(snap))
        if config["provider"] == "theirs":
            expect(details(snap)["allowed"] == [], "an empty list closes: %s" % snap)
    expect(len(p.bodies) == before, "what is denied asks nobody")
    for config, run in (({"provider": "openai"}, {"credentialRef": "cred-one"}), ({"provider": "ours", "model": "large1"}, None),
                        ({"provider": "ours"}, {"model": "tiny-2"})):
        snap = run_of(h, {"prompt": "hello", **config}, run)
        expect(snap["status"] == "completed", "%s: %s" % (config, snap))
        decided.append({"decision": "admitted", "provider": config["provider"], "runId": snap["runId"]})
    expect(h.wait(h.fork(snap["runId"]))["status"] == "completed", "a replay asks no policy")
    decisions(h, p, decided)
    h.end()


def audited(h):
    """Entries of the audit log about decisions, and its whole text, out of the file."""
    said = h.command("audit", "--from", "0")
    expect(said.returncode == 0, said.stderr)
    return [e for e in map(json.loads, said.stdout.splitlines()) if e["type"] == "policy.decision"], said.stdout


def decisions(h, p, decided):
    """AUD-3: each decision is an entry, in the transaction of what follows; a request that is sent has its entry before."""
    p.gate.clear()
    status, got = h.ask("POST", "/v1/runs", {"workflowId": h.put({"provider": "ours", "model": "large1", "prompt": "!hold audited"})})
    for _ in range(6000):
        if p.count("!hold audited"):
            break
        time.sleep(0.01)
    expect(p.count("!hold audited") == 1, "the provider has it: %s" % got)
    h.kill()
    entries, text = audited(h)
    decided.append({"decision": "admitted", "provider": "ours", "runId": got["runId"]})
    told = [{k: v for k, v in e["details"].items() if k != "nodeId"} for e in entries]
    expect(told == decided, "each once, in their order:\n%s\n%s" % (told, decided))
    expect(all(e["details"]["nodeId"] and e["tenantId"] == "default" for e in entries), text)
    asked = "\n".join(line for line in text.splitlines() if '"type":"secret.' not in line)  # what an operator set has its name
    expect(not any(s in asked for s in ("cred-one", "hello", "large12")), "neither the name of a credential nor what was asked")
    expect(not any(s in text for s in CANARIES), "no credential")
    p.gate.set()
    h.launch()
    expect(h.wait(got["runId"])["status"] == "completed", "after a kill")
    entries, _ = audited(h)
    expect(len(entries) == len(decided) + 1 and entries[-1]["details"]["runId"] == got["runId"], "asked again, decided again: %s" % entries[-2:])
    said = h.command("verify", "--audit")
    expect(said.returncode == 0, said.stdout + said.stderr)


def silence(wopr, folder):
    """Without a node that could use one, discovery speaks of no credentials."""
    h = Host(wopr, folder)
    found = h.ask("GET", "/.well-known/openwop")[1]
    expect("secrets" not in found and "aiProviders" not in found and "secrets" not in found["capabilities"], str(sorted(found)))
    h.end()


def settings(wopr, folder, port):
    for rules, more, word in (
            ({}, {}, "policies"), ([1], {}, "policies[0]"), ([{"mode": "disabled"}], {}, "provider"), ([{"provider": "nobody", "mode": "disabled"}], {}, "provider"),
            ([{"provider": "*", "mode": "strict"}], {}, "mode"), ([{"provider": "*", "mode": "disabled", "tenants": []}], {}, "tenants"),
            ([{"provider": "*", "mode": "disabled", "tenant": ["a"]}], {}, "may have the members"),
            ([{"provider": "*", "mode": "disabled", "allowedModels": ["x"]}], {}, "allowedModels"),
            ([{"provider": "*", "mode": "restricted", "allowedModels": "x"}], {}, "allowedModels"),
            ([], {"policyErrorCode": "Not Good"}, "policyErrorCode"), ([], {"policy": 1}, "policies")):
        path = providers_file(folder, port, rules, **more)
        rc, said = kit.start_refused(wopr, folder, "--egress-loopback", "--ai-providers", path)
        expect(rc != 0 and word in said and "ai-providers" in said, "%s: %s" % (rules, said))


PARTS = {"commands": commands, "whose": whose, "users": users, "echoes": echoes, "spellings": spellings, "replays": replays, "kills": kills, "rotation": rotation}


def main():
    wopr = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        p = Provider()
        p.keys = {OPERATOR_KEY, TENANT_KEY, USER_KEY}
        h = Host(wopr, folder, "--egress-loopback", "--conformance-types", "--log-level", "debug", "--ai-providers", providers_file(folder, p.port))
        found = h.ask("GET", "/.well-known/openwop")[1]
        expect(found["secrets"] == {"supported": True, "scopes": ["tenant", "user"], "resolution": "host-managed"}, str(found["secrets"]))
        expect("policies" not in found["aiProviders"], "no policies, none advertised")
        for part in PARTS.values():
            part(h, p)
        canary(h, folder, p.port)
        h.end()
        policies(wopr, folder, p)
        settings(wopr, folder, p.port)
        silence(wopr, folder)
        p.shutdown()
    print("byok: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
