// What the samples use of Node.
declare const process: { env: Record<string, string | undefined>; on(name: "SIGTERM" | "SIGINT", listener: () => void): void };
