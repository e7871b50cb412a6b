"""The frames of a text/event-stream, from bytes in pieces of any size (WHATWG HTML, 9.2.6)."""
from __future__ import annotations

import re
from typing import List, NamedTuple, Optional

from .errors import UnexpectedAnswerError

FRAME_MAX = 64 * 1024 * 1024  # a longer one is no event of a host
LINE_END = re.compile(rb"\r\n|\r|\n")


class Frame(NamedTuple):
    #: The last id seen, in this frame or before.
    id: str
    event: str
    data: str


class FrameDecoder:
    def __init__(self, last_id: str = "", frame_max: int = FRAME_MAX):
        self._id, self._max = last_id, frame_max
        self._partial: List[bytes] = []  # of the line that has no end yet; joined once, when it has
        self._data: List[str] = []
        self._partial_size = 0
        self._data_size = 0  # a line counts, however short: so many are memory too
        self._event = ""
        self._saw_return = False

    def push(self, piece: bytes) -> List[Frame]:
        """Takes a piece and returns the frames that it completed."""
        frames: List[Frame] = []
        if not piece:
            return frames
        # A line feed after a carriage return at the end of the piece before belongs to that one.
        start = 1 if self._saw_return and piece[:1] == b"\n" else 0
        self._saw_return = piece.endswith(b"\r")
        for end in LINE_END.finditer(piece, start):
            self._partial.append(piece[start:end.start()])
            start = end.end()
            frame = self._line(b"".join(self._partial).decode("utf-8", "replace"))
            self._partial, self._partial_size = [], 0
            if frame:
                frames.append(frame)
        if start < len(piece):
            self._partial.append(piece[start:])
            self._partial_size += len(piece) - start
        if self._partial_size + self._data_size > self._max:
            raise UnexpectedAnswerError("an event of more than %d bytes" % self._max)
        return frames

    def _line(self, text: str) -> Optional[Frame]:
        if not text:
            return self._dispatch()
        field, colon, value = text.partition(":")
        if colon and not field:
            return None  # a comment: only a sign of life
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            self._data.append(value)
            self._data_size += len(value) + 1
        elif field == "event":
            self._event = value
        elif field == "id" and "\0" not in value:
            self._id = value
        return None

    def _dispatch(self) -> Optional[Frame]:
        frame = Frame(self._id, self._event or "message", "\n".join(self._data)) if self._data else None
        self._data, self._data_size, self._event = [], 0, ""
        return frame
