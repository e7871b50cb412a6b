#!/bin/sh
# sensitive-0012.sh: made sensitive-0012.sql, a database of schema version 12, which kept sensitive
# values clear.  Usage, with a program of that version (git: the parent of the commit that added
# migration 0013) and curl, python3, sqlite3:
#     tests/integration/old/sensitive-0012.sh path/to/wopr > tests/integration/old/sensitive-0012.sql
set -eu
here=$(dirname "$0")
dir=$(mktemp -d)
export OPENWOP_API_KEY=hk_test_integration_key_0123456789abcdef
"$1" serve --db "$dir/w.db" --port 0 --ops-port 0 --seed "$here/sensitive" --log-level warn > "$dir/out" &
host=$!
trap 'kill $host 2> /dev/null || true; rm -rf "$dir"' EXIT
for _ in $(seq 100); do grep -q 'http://' "$dir/out" && break; sleep 0.1; done
base=$(grep -o 'http://[0-9.:a-z]*' "$dir/out" | head -1)

ask() { curl -sf "$base$1" -H "authorization: Bearer $OPENWOP_API_KEY" --json "$2"; }
start() {
    ask /v1/runs "{\"workflowId\":\"$1\",\"inputs\":{\"k\":\"CANARY-old-file-9\"}}" |
        python3 -c 'import json,sys; print(json.load(sys.stdin)["runId"])'
}
for workflow in sens sens2; do # one run that has ended, one that waits
    ended=$(start $workflow)
    start $workflow > /dev/null
    sleep 0.5
    ask "/v1/runs/$ended/interrupts/g" '{"resumeValue":{"action":"accept"}}' > /dev/null
done
sleep 1
kill $host; wait $host || true
sqlite3 "$dir/w.db" .dump
