"""Packs: what is installed, and the registry of the host."""
from __future__ import annotations

from typing import Dict, Iterator, Optional, cast

from . import wire
from .transport import Transport
from .worker import given


class Packs:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def installed(self) -> wire.PackInstalledList:
        """The packs of the tenant, with their node types and agents."""
        return cast(wire.PackInstalledList, self._call("listPacks"))

    def search(self, q: str = "", *, limit: Optional[int] = None, cursor: Optional[str] = None) -> wire.PackSearch:
        """One page of packs that have all the words."""
        return cast(wire.PackSearch, self._call("searchPacks", query=given(q=q, limit=limit, cursor=cursor)))

    def search_all(self, q: str = "", *, limit: Optional[int] = None) -> Iterator[wire.PackFound]:
        cursor: Optional[str] = None
        while True:
            page = self.search(q, limit=limit, cursor=cursor)
            yield from page["results"]
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    def get(self, name: str) -> wire.PackCatalog:
        """The catalog record: all versions."""
        return cast(wire.PackCatalog, self._call("getPack", path={"name": name}))

    def version(self, name: str, version: str) -> wire.PackVersion:
        """The manifest of a version, and what the registry knows; its bytes are at tarballUrl."""
        return cast(wire.PackVersion, self._call("getPackFile", path={"name": name, "file": version + ".json"}))

    def publish(self, name: str, version: str, tarball: bytes, *, integrity: Optional[str] = None, signature: Optional[str] = None,
                public_key: Optional[str] = None) -> wire.PackVersion:
        """``signature``: base64, over the tarball.  ``public_key``: base64, for the first signed pack of a namespace."""
        headers: Dict[str, str] = {"X-Pack-Signing-Method": "none" if signature is None else "manual"}
        for key, value in (("X-Pack-Sha256", integrity), ("X-Pack-Signature", signature), ("X-Pack-Public-Key", public_key)):
            if value is not None:
                headers[key] = value
        return cast(wire.PackVersion, self._call("publishPack", path={"name": name, "file": version + ".tgz"}, body=tarball,
                                                 headers=headers))

    def unpublish(self, name: str, version: str) -> wire.PackChanged:
        """Within 72 hours; the version is never given again."""
        return cast(wire.PackChanged, self._call("unpublishPack", path={"name": name, "file": version}))

    def deprecate(self, name: str, version: str, reason: str, *, superseded_by: Optional[str] = None) -> wire.PackChanged:
        body = given(reason=reason, supersededBy=superseded_by)
        return cast(wire.PackChanged, self._call("deprecatePack", path={"name": name, "file": version}, body=body, repeatable=True))

    def undeprecate(self, name: str, version: str) -> wire.PackChanged:
        return cast(wire.PackChanged, self._call("undeprecatePack", path={"name": name, "file": version}))

    def yank(self, name: str, version: str, reason: str, *, advisory_url: Optional[str] = None) -> wire.PackChanged:
        """Ranges pass the version over from now on; exact pins still find it."""
        body = given(reason=reason, advisoryUrl=advisory_url)
        return cast(wire.PackChanged, self._call("yankPack", path={"name": name, "file": version}, body=body, repeatable=True))

    def unyank(self, name: str, version: str) -> wire.PackChanged:
        return cast(wire.PackChanged, self._call("unyankPack", path={"name": name, "file": version}))

    def keychain(self, name: str) -> wire.PackKeychain:
        return cast(wire.PackKeychain, self._call("getPackKeychain", path={"name": name}))

    def rotate_key(self, name: str, kid: str, public_key: str, valid_from: str, rotation_proof: str) -> wire.PackKeychain:
        """``rotation_proof``: base64 of the old key's signature over kid, public_key and valid_from, joined."""
        body = {"kid": kid, "publicKey": public_key, "validFrom": valid_from, "rotationProof": rotation_proof}
        return cast(wire.PackKeychain, self._call("rotatePackKey", path={"name": name}, body=body))
