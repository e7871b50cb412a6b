// A client out of the generated parts, compiled strictly, against a live host.
// usage: node use.js BASE_URL API_KEY
import * as api from './orval/client';
import type { components, operations } from './openapi';

declare const process: { argv: string[]; exitCode?: number };

type Created = operations['createRun']['responses'][201]['content']['application/json'];
type Snapshot = components['schemas']['RunSnapshot'];

const [base, key] = process.argv.slice(2);
const POLLS = 20;

// The generated functions ask for paths; the host and the key are ours to add.
const plainFetch = globalThis.fetch;
globalThis.fetch = (path, init) =>
  plainFetch(`${base}${String(path)}`, {
    ...init,
    headers: { ...(init?.headers as Record<string, string>), authorization: `Bearer ${key}` },
  });

function expect(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

async function ended(run: Created): Promise<Snapshot> {
  for (let i = 0; i < POLLS; i++) {
    const page = await api.pollRunEvents(run.runId, { timeout: 5 });
    expect(page.status === 200, `poll: ${page.status}`);
    if (page.data.isComplete) break;
  }
  const got = await api.getRun(run.runId);
  expect(got.status === 200, `getRun: ${got.status}`);
  return got.data as Snapshot;
}

async function main(): Promise<void> {
  const created = await api.createRun({ workflowId: 'conformance-noop', tags: ['generated'] });
  expect(created.status === 201, `createRun: ${created.status}`);
  const snapshot = await ended(created.data);
  expect(snapshot.status === 'completed', `the run is ${snapshot.status}`);
  const list = await api.listRuns({ tag: 'generated', status: 'completed' });
  expect(list.status === 200 && list.data.runs.length === 1, 'the run is not in the list');
  const refused = await api.createRun({ workflowId: 'no-such-workflow' });
  expect(refused.status === 400, `an unknown workflow: ${refused.status}`);
  expect(refused.data.error === 'validation_error', refused.data.message);
  expect(refused.headers.get('x-request-id') !== null, 'no request id');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
