// workspec.ts: WorkSpec documents: validated, planned, stored as definitions of runs.
import type { CallOptions, Query, Transport } from "./transport.js";
import type * as wire from "./wire.js";

export class Workspec {
  constructor(private readonly transport: Transport) {}

  /** All that is wrong with a document; stores nothing. */
  validate(document: object, query: wire.ValidateWorkspecQuery = {}, options?: CallOptions): Promise<wire.WorkspecVerdict> {
    return this.transport.call("validateWorkspec", { query: query as Query, body: document, repeatable: true }, options);
  }
  /** Who does what when; stores nothing. */
  plan(document: object, options?: CallOptions): Promise<wire.WorkspecPlan> {
    return this.transport.call("planWorkspec", { body: document, repeatable: true }, options);
  }
  /** A JSON Schema of documents, for editors. */
  schema(options?: CallOptions): Promise<wire.JsonSchema> {
    return this.transport.call("getWorkspecSchema", {}, options);
  }
  /** Runs are then started with its id. */
  put(workflowId: string, document: object, query: wire.PutWorkspecDocumentQuery = {}, options?: CallOptions): Promise<wire.WorkspecStored> {
    return this.transport.call("putWorkspecDocument", { path: { workflowId }, query: query as Query, body: document }, options);
  }
  get(workflowId: string, options?: CallOptions): Promise<wire.WorkspecDocument> {
    return this.transport.call("getWorkspecDocument", { path: { workflowId } }, options);
  }
  planOf(workflowId: string, options?: CallOptions): Promise<wire.WorkspecPlan> {
    return this.transport.call("getWorkspecPlan", { path: { workflowId } }, options);
  }
  /** No new runs of it; those that exist go on. */
  delete(workflowId: string, options?: CallOptions): Promise<wire.WorkflowDeleted> {
    return this.transport.call("deleteWorkspecDocument", { path: { workflowId } }, options);
  }
}
