#!/usr/bin/env python3
"""Pictures of the dashboard, small enough for the repository.  usage: shrink.py FROM.png TO.png

A page has few colours and many of their mixtures along letters: the 256 that are most frequent stay, the others become the nearest of them.
"""
import collections
import struct
import sys
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def read(path: str) -> tuple:
    """Width, height and rows of (r, g, b) as 3-byte texts, of a picture with 8 bits a channel and no interlacing, as browsers write them."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == SIGNATURE
    at, packed, head = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        head = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else head
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height, depth, colour = head[:4]
    assert depth == 8 and colour in (2, 6) and head[6] == 0
    step = 3 if colour == 2 else 4
    raw, stride, before, rows = zlib.decompress(packed), width * step, bytearray(width * step), []
    for y in range(height):
        how, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        unfilter(how, line, before, step)
        rows.append([bytes(line[i:i + 3]) for i in range(0, stride, step)])
        before = line
    return width, height, rows


def unfilter(how: int, line: bytearray, above: bytearray, step: int) -> None:
    for i in range(len(line)) if how else ():
        a, b, c = (line[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
        if how == 4:
            p = a + b - c
            pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
            a = a if pa <= pb and pa <= pc else b if pb <= pc else c
        line[i] = (line[i] + (a if how in (1, 4) else b if how == 2 else (a + b) // 2)) & 255


def palette(rows: list) -> tuple:
    counts = collections.Counter(pixel for row in rows for pixel in row)
    kept = [colour for colour, _ in counts.most_common(256)]
    index = {colour: i for i, colour in enumerate(kept)}
    for colour in counts:
        if colour not in index:
            index[colour] = min(range(len(kept)), key=lambda i: sum((x - y) ** 2 for x, y in zip(kept[i], colour)))
    return kept, index


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def main() -> int:
    width, height, rows = read(sys.argv[1])
    kept, index = palette(rows)
    pixels = b"".join(b"\0" + bytes(index[p] for p in row) for row in rows)
    with open(sys.argv[2], "wb") as f:
        f.write(SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", b"".join(kept))
                + chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
