// The same request for a terminal.  The key is not shown: $WOPR_API_KEY stands for it.
import { print, type Json } from "./json";

export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function curl(method: string, path: string, body?: Json): string {
  const url = quote(location.origin + path);
  const key = `-H "authorization: Bearer $WOPR_API_KEY"`;
  if (body !== undefined) return `curl -s ${method === "POST" ? "" : `-X ${method} `}${url} ${key} --json ${quote(print(body))}`;
  return `curl -s ${url} ${key}`;
}

export function cli(...words: string[]): string {
  return ["wopr", ...words.map(quote), "--url", quote(location.origin)].join(" ");
}
