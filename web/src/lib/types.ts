// What the routes answer, as far as pages use it.
import type { Json, Obj } from "./json";

export type Status =
  | "pending" | "running" | "paused" | "waiting-approval" | "waiting-input" | "waiting-external"
  | "completed" | "failed" | "cancelled";
export const STATUSES: Status[] = [
  "pending", "running", "paused", "waiting-approval", "waiting-input", "waiting-external", "completed", "failed", "cancelled",
];
export const isFinal = (status: string): boolean => status === "completed" || status === "failed" || status === "cancelled";

export interface RunItem {
  host?: string; // that has it in its hands
  runId: string;
  workflowId: string;
  status: Status;
  createdAt?: string;
  startedAt?: string;
  completedAt?: string;
  tags?: string[];
  parentRunId?: string;
  fork?: Fork;
}
export interface Fork {
  sourceRunId: string;
  fromSeq: number;
  mode: "replay" | "branch";
}
export interface Interrupt {
  interruptId: string;
  nodeId: string;
  kind: string;
  key: string;
  data?: Json;
  requestedAt?: string;
  expiresAt?: string;
}
export interface Pending extends Interrupt {
  runId: string;
  workflowId: string;
  ageMs: number;
}
export interface NodeState {
  status: string;
  attempt: number;
  startedAt?: string;
  completedAt?: string;
  outputs?: Json;
  error?: Json;
  [more: string]: Json | undefined;
}
export interface Snapshot extends RunItem {
  currentNodeId?: string;
  nodeStates: Record<string, NodeState>;
  variables: Obj;
  channels?: Obj;
  outputs?: Json;
  error?: Json;
  interrupt?: Interrupt;
  childRuns?: { runId: string; status: Status; nodeId: string }[];
  childRunsTruncated?: boolean;
  metadata?: Json;
  configurable?: Json;
  parentNodeId?: string;
  metrics?: Json;
}
export interface Event {
  eventId: string;
  runId: string;
  nodeId?: string;
  type: string;
  payload: Obj;
  timestamp: string;
  sequence: number;
  causationId?: string;
}
export interface WfNode {
  id: string;
  typeId: string;
  name?: string;
  config?: Obj;
  inputs?: Obj;
  notes?: string;
}
export interface WfEdge {
  id?: string;
  sourceNodeId: string;
  targetNodeId: string;
  condition?: Json;
}
export interface WfVariable {
  name: string;
  type: string;
  description?: string;
  required?: boolean;
  defaultValue?: Json;
  sensitive?: boolean;
}
export interface Definition {
  id: string;
  name?: string;
  version?: string;
  description?: string;
  nodes: WfNode[];
  edges?: WfEdge[];
  variables?: WfVariable[];
  channels?: Record<string, Obj>;
  metadata?: Obj;
}
export interface Caller {
  keyId?: string;
  subject?: string;
  tenant: string;
  mode: "live" | "test";
  scopes: string[];
  expiresAt?: string;
  implementation: { name: string; version: string };
}
