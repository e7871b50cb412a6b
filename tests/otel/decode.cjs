// Messages of OTLP through the decoder that OpenTelemetry generates from its own schema.
// usage: node decode.cjs FILE     run where node_modules is; FILE: {"path","type","body" (base64)} a line
// Prints {"ours": what the bytes say, "bytes": length, "again": length when encoded again} a line: ids in hex, enumerations as numbers,
// 64-bit integers as texts.  What the schema does not have is dropped by the decoder, so it is missed in both.
const fs = require('fs');
const path = require('path');

const found = path.dirname(require.resolve('@opentelemetry/otlp-transformer'));
const { opentelemetry } = require(path.join(found, 'generated', 'root'));
const KINDS = {
  '/v1/traces': opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest,
  '/v1/metrics': opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest,
};
const IDS = ['traceId', 'spanId', 'parentSpanId'];

// The JSON form has ids in hex, where the generated code expects base64.
function bytesOfIds(value) {
  if (Array.isArray(value)) return value.map(bytesOfIds);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, IDS.includes(k) ? Buffer.from(v, 'hex') : bytesOfIds(v)]));
}

function hexOfIds(value) {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(hexOfIds);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, hexOfIds(v)]));
}

function decoded(line) {
  const { path: where, type, body } = JSON.parse(line);
  const kind = KINDS[where];
  const bytes = Buffer.from(body, 'base64');
  const message = type === 'application/json' ? kind.fromObject(bytesOfIds(JSON.parse(bytes.toString('utf8')))) : kind.decode(bytes);
  const ours = hexOfIds(kind.toObject(message, { longs: String, enums: Number, bytes: Buffer }));
  return JSON.stringify({ ours, bytes: bytes.length, again: kind.encode(message).finish().length });
}

for (const line of fs.readFileSync(process.argv[2], 'utf8').split('\n').filter(Boolean)) console.log(decoded(line));
