#!/usr/bin/env python3
"""
pack_agents.py: agents that an installed pack brings, in pins of workflows, on the real program (AGT-9, AGT-31, AGT-40 to AGT-46, PACK-17).
usage: pack_agents.py WOPR [NAME...]    (names of the functions below; default all)
"""
import json
import os
import subprocess
import sys
import tempfile

from agents import AgentHost, Model, asked, code, host, manifest_put, out, repeated, said_to
from run import FAILED, expect

PACK = "vendor.acme.desk"
CLERK = PACK + ".clerk"
TASK = {"prompt": "{{tag}}", "tools": [{"ask": {}}, {"node": {"typeId": "core.identity"}, "name": "keep"}]}


def plays(messages, tools):
    """Asks a person where it may, then says what it was told to be."""
    said = [m["content"] for m in messages if m["role"] == "tool"]
    if "ask" in tools and not said:
        return "", [("ask", '{"question": "may I?"}')]
    return json.dumps({"as": [m["content"] for m in messages if m["role"] == "system"][:1]})


def build(h, version, prompt, name=PACK, allow=("wopr.host:ask",), **more):
    """A tarball of one agent, whose prompt is a file."""
    folder = tempfile.mkdtemp(dir=h.db)
    os.makedirs(os.path.join(folder, "p"))
    agent = {"agentId": name + ".clerk", "persona": "Clerk", "modelClass": "general", "systemPromptRef": "p/clerk.md", "toolAllowlist": list(allow), **more}
    with open(os.path.join(folder, "p/clerk.md"), "w", encoding="utf-8") as f:
        f.write(prompt)
    with open(os.path.join(folder, "r.json"), "w", encoding="ascii") as f:
        json.dump({"type": "object", "required": ["as"]}, f)
    with open(os.path.join(folder, "pack.json"), "w", encoding="ascii") as f:
        json.dump({"name": name, "version": version, "engines": {"openwop": "^1"}, "agents": [agent],
                   "runtime": {"language": "remote", "entry": "https://pack.invalid/agents"}}, f)
    path = os.path.join(h.db, "%s-%s.tgz" % (name, version))
    done = subprocess.run([h.wopr, "packs", "build", folder, "--out", path], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0, "built: %s" % done.stderr)
    return path


def install(h, path, *more):
    return h.command("packs", "install", path, "--pack-trust", "open", *more)


def remove(h, version):
    done = h.command("packs", "remove", PACK, version)
    expect(done.returncode == 0, "removed: %s" % done.stderr)


def put(h, name, packs=None):
    node = {"id": "n", "typeId": "vendor.wopr.agent", "name": "N", "position": {"x": 0, "y": 0}, "config": TASK, "agent": {"agentId": CLERK},
            "inputs": {"tag": {"type": "variable", "variableName": "tag"}}}
    wf = {"id": name, "name": "W", "version": "1", "nodes": [node], "edges": [], "triggers": [], "metadata": {}, "settings": {},
          "variables": [{"name": "tag", "type": "string", "defaultValue": "x"}], **({"packs": packs} if packs else {})}
    return h.ask("PUT", "/v1/host/wopr/workflows/" + name, wf)


def answered(h, run):
    asked(h, run)
    h.answer(run, {"answers": {"answer": "yes"}})
    return h.until(run)


def told(model, tag):
    """What the agent was told to be, in each request of a run."""
    return {system[0] for system, _ in said_to(model, tag)}


def a_pin_means_the_agent_that_is_installed_when_the_run_begins(wopr, folder):
    """AGT-46: neither an update, a removal nor a kill changes it, for forks neither."""
    model = Model(plays)
    h = host(wopr, folder, model)
    expect(install(h, build(h, "1.0.0", "You are the first.")).returncode == 0, "installed")
    expect(put(h, "newest")[0] == 200 and put(h, "pinned", {PACK: {"version": "1.0.0"}})[0] == 200, "stored")
    run = h.begin("newest", "pen")
    asked(h, run)
    expect([t for _, t in said_to(model, "pen")] == [["ask"]], "narrowed by the manifest: %s" % said_to(model, "pen"))
    expect(install(h, build(h, "1.1.0", "You are the second.")).returncode == 0, "updated")
    old, new = h.begin("pinned", "ink"), h.begin("newest", "oil")
    for other in (old, new):
        answered(h, other)
    expect((told(model, "ink"), told(model, "oil")) == ({"You are the first."}, {"You are the second."}), "the pin chooses, else the highest")
    remove(h, "1.0.0")
    remove(h, "1.1.0")
    h.kill()
    h = host(wopr, folder, model, db=h.db)
    snap = answered(h, run)
    expect(snap["status"] == "completed" and json.loads(out(snap)["text"]) == {"as": ["You are the first."]}, "goes on: %s" % snap)
    asked_nr = len(model.asked)
    repeated(h, h.until(h.fork(run)), snap, "an agent of a pack")
    expect(len(model.asked) == asked_nr, "a replay asks nobody")
    answered(h, h.fork(run, "branch", 0))
    expect(len(model.asked) > asked_nr and told(model, "pen") == {"You are the first."}, "a branch goes by the set of its source")
    status, got = h.ask("POST", "/v1/runs", {"workflowId": "pinned", "inputs": {"tag": "gone"}})
    expect(status == 400 and got["error"] == "pack_load_failure" and "1.0.0" in got["message"], "%s %s" % (status, got))
    h.end()
    model.stop()


def what_is_nearer_or_forged_is_told_apart(wopr, folder):
    """A workspace agent goes before a pack's; a pin's digest must hold; a pack without the agent is said."""
    model = Model(plays)
    h = host(wopr, folder, model)
    tarball = build(h, "1.0.0", "You are of the pack.")
    expect(install(h, tarball).returncode == 0, "installed")
    expect(put(h, "plain")[0] == 200, "stored")
    answered(h, h.begin("plain", "pack"))
    manifest_put(h, CLERK, systemPrompt="You are of the workspace.", toolAllowlist=["wopr.host:ask"])
    answered(h, h.begin("plain", "workspace"))
    expect((told(model, "pack"), told(model, "workspace")) == ({"You are of the pack."}, {"You are of the workspace."}), "nearer")
    expect(h.ask("DELETE", "/v1/host/wopr/agents/" + CLERK)[0] in (200, 204), "deleted")
    bad = "sha256-" + "A" * 43 + "="
    status, got = put(h, "forged", {PACK: {"version": "1.0.0", "integrity": bad}})
    expect(status == 400 and got["error"] == "pack_integrity_failure", "%s %s" % (status, got))
    node = {"id": "n", "typeId": "core.noop", "name": "N", "position": {"x": 0, "y": 0}, "config": {}, "inputs": {}, "agent": {"agentId": PACK + ".nobody"}}
    wf = {"id": "nobody", "name": "W", "version": "1", "nodes": [node], "edges": [], "triggers": [], "metadata": {}, "settings": {}, "variables": [],
          "packs": {PACK: {"version": "1.0.0"}}}
    expect(h.ask("PUT", "/v1/host/wopr/workflows/nobody", wf)[0] == 200, "stored")
    status, got = h.ask("POST", "/v1/runs", {"workflowId": "nobody"})
    expect(status == 400 and got["error"] == "pack_load_failure" and PACK + ".nobody" in got["message"], "%s %s" % (status, got))
    h.end()
    model.stop()


def an_agent_that_cannot_be_used_is_not_installed(wopr, folder):
    """AGT-43, and the rules of workspace agents: a prompt that is too long, a schema that is none."""
    model = Model(plays)
    path = os.path.join(folder, "classes.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"providers": [{"name": "one", "style": "openai", "url": model.url, "model": "tiny", "keyEnv": "NOT_SET_HERE", "modelClasses": ["code"]}]}, f)
    h = host(wopr, folder, model)
    good = build(h, "1.0.0", "You are good.", handoff={"returnSchemaRef": "r.json"})
    done = install(h, good, "--ai-providers", path)
    expect(done.returncode == 1 and "unsupported_model_class" in done.stderr and "chat" in done.stderr, "%s" % done)
    done = install(h, build(h, "1.0.1", "x" * (65 * 1024)))
    expect(done.returncode == 1 and CLERK in done.stderr, "%s" % done)
    expect(h.ask("GET", "/v1/packs")[1]["packs"] == [], "none is installed")
    expect(install(h, good).returncode == 0, "installed")
    expect(put(h, "plain")[0] == 200, "stored")
    snap = answered(h, h.begin("plain", "good"))
    expect(snap["status"] == "completed" and out(snap).get("output") == {"as": ["You are good."]}, "its schema holds: %s" % snap)
    h.end()
    model.stop()


TESTS = [a_pin_means_the_agent_that_is_installed_when_the_run_begins, what_is_nearer_or_forged_is_told_apart,
         an_agent_that_cannot_be_used_is_not_installed]


def main():
    names = sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        for test in TESTS:
            if not names or test.__name__ in names:
                before = len(FAILED)
                test(sys.argv[1], folder)
                print("%s %s" % ("ok  " if len(FAILED) == before else "BAD ", test.__name__), flush=True)
    print("pack_agents: %d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
