// The EventSource of browsers (WHATWG HTML, 9.2), as far as pages can tell the difference; Node has none.

const RECONNECT_MS = 30; // browsers: a few seconds

export class EventSource extends EventTarget {
  static CONNECTING = 0;
  static OPEN = 1;
  static CLOSED = 2;
  readyState = EventSource.CONNECTING;
  onopen = null;
  onerror = null;
  #last = "";
  #abort = new AbortController();

  constructor(url) {
    super();
    this.url = url;
    this.#connect();
  }

  close() {
    this.readyState = EventSource.CLOSED;
    this.#abort.abort();
  }

  #say(name) {
    const event = new Event(name);
    this[`on${name}`]?.(event);
    this.dispatchEvent(event);
  }

  async #connect() {
    const headers = { accept: "text/event-stream", ...(this.#last ? { "last-event-id": this.#last } : {}) };
    let answer;
    try {
      answer = await fetch(this.url, { headers, signal: this.#abort.signal, cache: "no-store" });
    } catch {
      return this.#again();
    }
    if (answer.status !== 200 || !answer.headers.get("content-type")?.startsWith("text/event-stream")) {
      this.readyState = EventSource.CLOSED;
      return this.#say("error");
    }
    this.readyState = EventSource.OPEN;
    this.#say("open");
    await this.#read(answer.body).catch(() => undefined);
    this.#again();
  }

  async #read(body) {
    const text = new TextDecoder();
    let rest = "";
    for await (const piece of body) {
      const frames = (rest + text.decode(piece, { stream: true })).split("\n\n");
      rest = frames.pop();
      for (const frame of frames) this.#dispatch(frame);
    }
  }

  #dispatch(frame) {
    const fields = {};
    for (const line of frame.split("\n")) {
      const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
      if (name) fields[name] = value;
    }
    if (fields.id !== undefined) this.#last = fields.id;
    if (fields.data === undefined || this.readyState === EventSource.CLOSED) return;
    this.dispatchEvent(Object.assign(new Event(fields.event ?? "message"), { data: fields.data, lastEventId: this.#last }));
  }

  #again() {
    if (this.readyState === EventSource.CLOSED) return;
    this.readyState = EventSource.CONNECTING;
    this.#say("error");
    if (this.readyState !== EventSource.CLOSED) setTimeout(() => this.#connect(), RECONNECT_MS);
  }
}
