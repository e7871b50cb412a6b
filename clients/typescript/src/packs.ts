// packs.ts: what is installed, and the registry of the host.
import type { CallOptions, Query, Transport } from "./transport.js";
import type * as wire from "./wire.js";

export interface PublishOptions {
  /** "sha256-" and the base64 of the digest; the host compares it. */
  integrity?: string;
  /** base64 of the Ed25519 signature over the tarball. */
  signature?: string;
  /** base64, for the first signed pack of a namespace. */
  publicKey?: string;
}

export class Packs {
  constructor(private readonly transport: Transport) {}

  /** The packs of the tenant, with their node types and agents. */
  installed(options?: CallOptions): Promise<wire.PackInstalledList> {
    return this.transport.call("listPacks", {}, options);
  }
  /** One page of packs that have all the words. */
  search(query: wire.SearchPacksQuery = {}, options?: CallOptions): Promise<wire.PackSearch> {
    return this.transport.call("searchPacks", { query: query as Query }, options);
  }
  async *searchAll(query: Omit<wire.SearchPacksQuery, "cursor"> = {}, options?: CallOptions): AsyncGenerator<wire.PackFound, void, undefined> {
    let page = await this.search(query, options);
    yield* page.results;
    while (page.nextCursor !== undefined) {
      page = await this.search({ ...query, cursor: page.nextCursor }, options);
      yield* page.results;
    }
  }
  /** The catalog record: all versions. */
  get(name: string, options?: CallOptions): Promise<wire.PackCatalog> {
    return this.transport.call("getPack", { path: { name } }, options);
  }
  /** The manifest of a version, and what the registry knows; its bytes are at tarballUrl. */
  version(name: string, version: string, options?: CallOptions): Promise<wire.PackVersion> {
    return this.transport.call("getPackFile", { path: { name, file: `${version}.json` } }, options);
  }
  publish(name: string, version: string, tarball: Uint8Array, with_: PublishOptions = {}, options?: CallOptions): Promise<wire.PackVersion> {
    const headers: Record<string, string> = { "x-pack-signing-method": with_.signature === undefined ? "none" : "manual" };
    if (with_.integrity !== undefined) headers["x-pack-sha256"] = with_.integrity;
    if (with_.signature !== undefined) headers["x-pack-signature"] = with_.signature;
    if (with_.publicKey !== undefined) headers["x-pack-public-key"] = with_.publicKey;
    return this.transport.call("publishPack", { path: { name, file: `${version}.tgz` }, headers, body: tarball }, options);
  }
  /** Within 72 hours; the version is never given again. */
  unpublish(name: string, version: string, options?: CallOptions): Promise<wire.PackChanged> {
    return this.transport.call("unpublishPack", { path: { name, file: version } }, options);
  }
  deprecate(name: string, version: string, mark: wire.PackDeprecation, options?: CallOptions): Promise<wire.PackChanged> {
    return this.transport.call("deprecatePack", { path: { name, file: version }, body: mark, repeatable: true }, options);
  }
  undeprecate(name: string, version: string, options?: CallOptions): Promise<wire.PackChanged> {
    return this.transport.call("undeprecatePack", { path: { name, file: version } }, options);
  }
  /** Ranges pass the version over from now on; exact pins still find it. */
  yank(name: string, version: string, mark: wire.PackYank, options?: CallOptions): Promise<wire.PackChanged> {
    return this.transport.call("yankPack", { path: { name, file: version }, body: mark, repeatable: true }, options);
  }
  unyank(name: string, version: string, options?: CallOptions): Promise<wire.PackChanged> {
    return this.transport.call("unyankPack", { path: { name, file: version } }, options);
  }
  keychain(name: string, options?: CallOptions): Promise<wire.PackKeychain> {
    return this.transport.call("getPackKeychain", { path: { name } }, options);
  }
  rotateKey(name: string, next: wire.PackKeyRotation, options?: CallOptions): Promise<wire.PackKeychain> {
    return this.transport.call("rotatePackKey", { path: { name }, body: next }, options);
  }
}
