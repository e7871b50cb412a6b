#!/usr/bin/env python3
"""An agent is led through five steps in two chats, with a kill -9 of the host between them (issue 18).

usage: chat.py WOPR SOURCE_DIR [--write]

Plays the session over MCP against the real program, checks what must hold (nothing is lost, the same call gives the same bytes, the run that shows the
session is complete, the database verifies), and compares the transcript with the one that docs/workrail.md quotes; --write puts it there.
"""
import os
import re
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
from host import Host  # noqa: E402

BEGIN, END = "<!-- transcript: tests/workrail/chat.py --write -->\n```text\n", "```\n"


class RailHost(Host):
    def tool(self, name, arguments):
        answer = self.must("POST", "/v1/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                              "params": {"name": name, "arguments": arguments}})["result"]
        return answer["structuredContent"], answer.get("isError", False)


class Chat:
    """What an agent does: it knows the tokens of the last reply, and nothing else."""

    def __init__(self, host, name, lines):
        self.host, self.name, self.lines, self.reply = host, name, lines, None

    def call(self, tool, shown, **arguments):
        reply, failed = self.host.tool(tool, arguments)
        assert not failed, reply
        self.lines.append(f"{self.name}  {tool}{shown}")
        self.reply = reply
        return reply

    def step(self, tool, shown, **arguments):
        reply = self.call(tool, shown, **arguments)
        pending = reply["pending"]
        text = f'{pending["stepId"]}: {pending["prompt"].splitlines()[0]}' if pending else "complete"
        if reply.get("kind") == "blocked":
            text = "blocked: " + "; ".join(reply["validation"]["issues"]) + " (" + pending["stepId"] + " again)"
        self.lines.append(f'          {reply["nextIntent"]}, {text}')
        return reply

    def go_on(self, notes):
        last = self.reply
        ack = last.get("retryAckToken") or last["ackToken"]
        return self.step("continue_workflow", f' ack, "{notes}"', stateToken=last["stateToken"], ackToken=ack,
                         output={"notesMarkdown": notes})


def play(host, lines):
    one = Chat(host, "chat 1", lines)
    first = one.step("start_workflow", " project.release_check", workflowId="project.release_check",
                     context={"goal": "Release 2.0"}, anchors={"gitBranch": "release/2.0"})
    session, run = first["session"]["sessionId"], first["session"]["runId"]
    one.go_on("Twelve commits, all in the parser.")
    one.go_on("Deep nesting may exhaust the stack: src/parse.c.")
    third = one.go_on("Fuzzing covers nesting; no test covers a full disk.")

    host.kill()
    lines.append("          (kill -9 of the host; it is started again)")
    host.launch()

    two = Chat(host, "chat 2", lines)
    found = two.call("resume_session", ' {"query": "fuzzing nesting"}', query="fuzzing nesting")
    assert [c["sessionId"] for c in found["candidates"]] == [session] and found["totalEligible"] == 1, found
    lines.append(f'          1 candidate, {", ".join(found["candidates"][0]["whyMatched"])}')
    two.step("continue_workflow", " state", stateToken=found["candidates"][0]["stateToken"])
    assert two.reply["pending"]["prompt"].startswith(third["pending"]["prompt"].split("\n")[0]), two.reply
    assert "Twelve commits" in two.reply["pending"]["prompt"], "what was reported is told again"
    blocked = two.go_on("We release.")
    assert blocked["kind"] == "blocked", blocked
    two.go_on("Decision: release. All risks but one have a test.")
    last = two.go_on("2.0: the parser takes nesting of any depth.")
    assert last["isComplete"] and last["nextCall"] is None, last
    lines.append("          (the call of chat 1 that was answered before the kill, again)")
    return session, run, third


def check(host, session, run):
    status = host.must("GET", f"/v1/runs/{run}")["status"]
    assert status == "completed", status
    shown = host.must("GET", f"/v1/x-workrail/sessions/{session}")
    assert shown["health"] == "healthy" and shown["runs"][0]["status"] == "complete", shown
    events = host.must("GET", f"/v1/runs/{run}/events/poll")["events"]
    assert [e["sequence"] for e in events] == list(range(len(events)))
    kinds = [e["type"] for e in events]
    assert kinds[0] == "run.started" and kinds[-1] == "run.completed", kinds
    assert kinds.count("interrupt.requested") == kinds.count("interrupt.resolved") == 6, kinds
    assert host.stop() == 0, host.text()
    for command in (["verify"], ["sessions", "verify"]):
        out = host.command(*command)
        assert out.returncode == 0, out.stdout + out.stderr


def answer_over_rest(host):
    """A person answers the question of a run that shows a session, and the agent finds its session a step further."""
    first, failed = host.tool("start_workflow", {"workflowId": "project.release_check", "context": {"goal": "Another"}})
    assert not failed, first
    run = first["session"]["runId"]
    shown = host.must("GET", f"/v1/runs/{run}")
    path = f"/v1/runs/{run}/interrupts/{shown['currentNodeId']}"
    host.must("POST", path, {"resumeValue": {"output": {"notesMarkdown": "Seen by a person: zymurgy."}}})
    after = host.must("GET", f"/v1/runs/{run}")
    assert after["currentNodeId"] != shown["currentNodeId"], after
    status, got = host.ask("POST", path, {"resumeValue": {"output": {"notesMarkdown": "Again."}}})
    assert status == 409, f"answered twice: {got}"
    found, failed = host.tool("resume_session", {"query": "zymurgy"})
    assert not failed and found["candidates"][0]["sessionId"] == first["session"]["sessionId"], found
    next_step, failed = host.tool("continue_workflow", {"stateToken": found["candidates"][0]["stateToken"]})
    assert not failed and next_step["pending"]["stepId"] != first["pending"]["stepId"], next_step
    # The agent had not heard of it: its acknowledgement is of a step that was reported.
    late, failed = host.tool("continue_workflow", {"stateToken": first["stateToken"], "ackToken": first["ackToken"],
                                                   "output": {"notesMarkdown": "Mine."}})
    assert not failed and late["pending"]["stepId"] == next_step["pending"]["stepId"], late


def page_compare(source, text, write):
    path = os.path.join(source, "docs/workrail.md")
    with open(path, encoding="utf-8") as f:
        page = f.read()
    start = page.index(BEGIN) + len(BEGIN)
    end = page.index(END, start)
    if write:
        with open(path, "w", encoding="utf-8") as f:
            f.write(page[:start] + text + page[end:])
        return 0
    if page[start:end] == text:
        return 0
    print("docs/workrail.md quotes another transcript; tests/workrail/chat.py WOPR . --write puts this one there:\n" + text)
    return 1


def main():
    wopr, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        host = RailHost(wopr, os.path.join(folder, "w.db"), "--session-workflows", os.path.join(source, "docs/examples/workrail"))
        session, run, third = play(host, lines)
        again, failed = host.tool("continue_workflow", {"stateToken": third["stateToken"]})
        assert not failed and again["pending"]["stepId"] == "decide", again
        lines[-1] = "          (its state token still shows the step that it stands for)"
        answer_over_rest(host)
        check(host, session, run)
    text = "".join(re.sub(r"\s+$", "", line) + "\n" for line in lines)
    return page_compare(source, text, "--write" in sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
