// index.ts: what the package exports.
export * from "./errors.js";
export { WoprClient, type BulkCancelRequest, type BulkCancelResult } from "./client.js";
export { type Packs, type PublishOptions } from "./packs.js";
export { type Workspec } from "./workspec.js";
export { DEFAULT_RETRY, type RetryPolicy } from "./retry.js";
export { isTerminalStatus, type MessageChunk, type RunState, type StreamMessage, type StreamMode, type StreamOptions } from "./stream.js";
export { newIdempotencyKey, type CallOptions, type ClientOptions } from "./transport.js";
export { verifyWebhook, type VerifyOptions, type Webhooks } from "./webhooks.js";
export { TaskFailure, type Handler, type NodeHandler, type TaskContext, type Worker, type WorkerOptions } from "./worker.js";
export * from "./wire.js";
