// webhooks.ts: registering webhooks, and checking what they deliver.
import type { CallOptions, Query, Transport } from "./transport.js";
import type * as wire from "./wire.js";

/** Seconds between the sender's clock and ours. */
const TOLERANCE_S = 300;

export interface VerifyOptions {
  /** Seconds, 300. */
  tolerance?: number;
  /** Seconds since 1970, for tests. */
  now?: number;
}

function same(a: string, b: string): boolean {
  let differs = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) differs |= a.charCodeAt(i) ^ b.charCodeAt(i % (b.length || 1));
  return differs === 0;
}

/** Was this delivery signed with the secret, not longer ago than the tolerance?  `body`: the text as it came. */
export async function verifyWebhook(secret: string, headers: Headers | Record<string, string>, body: string,
                                    options: VerifyOptions = {}): Promise<boolean> {
  const sent = headers instanceof Headers ? headers : new Headers(headers);
  const stamp = sent.get("x-openwop-timestamp") ?? "";
  if (sent.get("x-openwop-signature-algorithm") !== "v1" || !/^[0-9]{1,15}$/.test(stamp)) return false;
  const now = options.now ?? Date.now() / 1000;
  if (Math.abs(now - Number(stamp)) > (options.tolerance ?? TOLERANCE_S)) return false;
  const text = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", text.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, text.encode(`${stamp}.${body}`)));
  const hex = Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return same(`sha256=${hex}`, sent.get("x-openwop-signature") ?? "");
}

export class Webhooks {
  constructor(private readonly transport: Transport) {}

  /** The answer is the only place that shows the secret. */
  register(request: wire.WebhookRequest, options?: CallOptions): Promise<wire.WebhookRegistered> {
    return this.transport.call("registerWebhook", { body: request }, options);
  }
  async unregister(webhookId: string, options?: CallOptions): Promise<void> {
    await this.transport.call("unregisterWebhook", { path: { webhookId } }, options);
  }
  get(webhookId: string, options?: CallOptions): Promise<wire.Webhook> {
    return this.transport.call("getWebhook", { path: { webhookId } }, options);
  }
  /** One page, oldest first. */
  list(query: wire.ListWebhooksQuery = {}, options?: CallOptions): Promise<wire.WebhookList> {
    return this.transport.call("listWebhooks", { query: query as Query }, options);
  }
  async *listAll(query: Omit<wire.ListWebhooksQuery, "after"> = {}, options?: CallOptions): AsyncGenerator<wire.Webhook, void, undefined> {
    let page = await this.list(query, options);
    yield* page.webhooks;
    while (page.nextAfter !== undefined) {
      page = await this.list({ ...query, after: page.nextAfter }, options);
      yield* page.webhooks;
    }
  }
  /** One page, newest first. */
  deadLetters(webhookId: string, query: wire.ListWebhookDeadLettersQuery = {}, options?: CallOptions): Promise<wire.WebhookDeadLetters> {
    return this.transport.call("listWebhookDeadLetters", { path: { webhookId }, query: query as Query }, options);
  }
  /** Delivers again what was given up, and what waits, now. */
  retry(webhookId: string, options?: CallOptions): Promise<wire.WebhookRetried> {
    return this.transport.call("retryWebhook", { path: { webhookId }, repeatable: true }, options);
  }
}
