// What a program of a user may write, and (after ts-expect-error) what it may not: compiled only.
import { ApiError, RateLimitedError, WoprClient, type RunEventDoc, type RunStatus } from "wopr-client";

export async function uses(client: WoprClient): Promise<void> {
  const made = await client.runs.create({ workflowId: "w", inputs: { a: 1 }, tags: ["t"] }, { idempotencyKey: "k" });
  const id: string = made.runId;
  const status: RunStatus = (await client.runs.get(id)).status;
  void status;
  for await (const event of client.runs.events(id, { after: 3 })) {
    const sequence: number = (event satisfies RunEventDoc).sequence;
    void sequence;
  }
  for await (const state of client.runs.values(id)) void (state.atSeq satisfies number);
  for await (const run of client.runs.listAll({ status: "failed" })) void (run.workflowId satisfies string);
  await client.runs.fork(id, { mode: "branch", fromSeq: 3, runOptionsOverlay: { inputs: {} } });
  try {
    await client.interrupts.resolve(id, "gate", { action: "accept" });
  } catch (error) {
    if (error instanceof RateLimitedError) void (error.retryAfterMs satisfies number | undefined);
    if (error instanceof ApiError) void (error.details["fields"] satisfies unknown);
  }
  // @ts-expect-error: a run needs a workflow
  await client.runs.create({ inputs: {} });
  // @ts-expect-error: no such status
  await client.runs.list({ status: "sleeping" });
  // @ts-expect-error: no such mode
  await client.runs.fork(id, { mode: "rewind" });
  // @ts-expect-error: ids, or a filter
  await client.runs.bulkCancel({});
  // @ts-expect-error: the member is called runId
  void made.run_id;
  // @ts-expect-error: where the host is
  new WoprClient({ apiKey: "k" });
}
