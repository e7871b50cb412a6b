"""
model_times.py: of the model of docs/contract/50-workspec.md the small functions: values, and the grammars of starts and durations (2.2, 3.2, 3.3).
It is written from the contract alone, so that program and model agree only where both read it alike.
"""
import datetime
import math
import re
from fractions import Fraction
from zoneinfo import ZoneInfo, available_timezones


TRIM = "".join(map(chr, [9, 10, 11, 12, 13, 32, 160, 5760] + list(range(8192, 8203)) + [8232, 8233, 8239, 8287, 12288, 65279]))
ABSENT = type("A", (), {"__repr__": lambda s: "ABSENT", "__deepcopy__": lambda s, m: s, "__copy__": lambda s: s})()
PLAIN = re.compile("[a-z][a-z0-9_]{0,249}\\Z")
NS = re.compile("([a-z][a-z0-9_]*):([a-z][a-z0-9_]{0,249})\\Z")
BUILTIN = {"actor": "ps", "equipment": "ps", "service": "ps", "resource": "q", "product": "q", "display": "s", "screen_element": "s",
           "digital_object": "sq"}
RESERVED = {"timeline_actors", "any", "unknown"}
ALIAS = {"material": "resource", "ingredient": "resource", "tool": "equipment"}
OPS = ["from", "to", "set", "delta", "multiply", "increment", "decrement", "append", "remove"]
DAY = 86400000
ERR = "https://universalautomation.wiki/workspec/errors/"


def is_object(x):
    return isinstance(x, dict)


def is_array(x):
    return isinstance(x, list)


def is_number(x):
    return isinstance(x, (int, float)) and (not isinstance(x, bool))


def is_text(x):
    return isinstance(x, str)


def trim(x):
    return x.strip(TRIM) if is_text(x) else ""


def text_of(x):
    return x if is_text(x) else ""


def type_name(x):
    if x is ABSENT:
        return "undefined"
    if isinstance(x, bool):
        return "boolean"
    if is_number(x):
        return "number"
    if is_text(x):
        return "string"
    return "object"


def kind_of(x):
    if x is None:
        return "null"
    if is_array(x):
        return "array"
    return type_name(x)


def escape(p):
    return p.replace("~", "~0").replace("/", "~1")


def member(o, k):
    return o.get(k, ABSENT) if is_object(o) else ABSENT


def same(a, b):
    if a is ABSENT or b is ABSENT:
        return a is b
    if kind_of(a) != kind_of(b):
        return False
    if is_number(a):
        return float(a) == float(b)
    if is_array(a):
        return len(a) == len(b) and all((same(x, y) for x, y in zip(a, b)))
    if is_object(a):
        return a.keys() == b.keys() and all((same(a[k], b[k]) for k in a))
    return a == b
CLOCK = re.compile("([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?\\Z")
DATE_TIME = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\\.([0-9]{1,9}))?)?(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))?\\Z")


def day_number(y, m, d):
    return datetime.date(y, m, d).toordinal() - 719163


def date_of(n):
    return datetime.date.fromordinal(n + 719163)


def parse_start(v):
    """('time', ms, minutes) ('daytime', ...) ('datetime', localDays, msOfDay, offsetMin|None) or ('error', reason)"""
    if is_text(v):
        t = trim(v)
        m = CLOCK.match(t)
        if m:
            h, mi, s = (int(m[1]), int(m[2]), int(m[3] or 0))
            return ("time", h * 3600000 + mi * 60000 + s * 1000, float(h * 60 + mi) + (s / 60 if m[3] else 0))
        m = DATE_TIME.match(t)
        if not m:
            return ("error", "string")
        off = None
        if m[8]:
            off = 0
        elif m[9]:
            if int(m[10]) > 23 or int(m[11]) > 59:
                return ("error", "string")
            off = (int(m[10]) * 60 + int(m[11])) * (1 if m[9] == "+" else -1)
        y, mo, d = (int(m[1]), int(m[2]), int(m[3]))
        if not (1 <= y and 1 <= mo <= 12 and (1 <= d)):
            return ("error", "invalid_date")
        try:
            days = day_number(y, mo, d)
        except ValueError:
            return ("error", "invalid_date")
        frac = int((m[7] or "0").ljust(3, "0")[:3])
        ms = int(m[4]) * 3600000 + int(m[5]) * 60000 + int(m[6] or 0) * 1000 + frac
        return ("datetime", days, ms, off)
    if is_object(v):
        d = member(v, "day")
        if not is_number(d) or float(d) != math.floor(d) or d < 1:
            return ("error", "invalid_day")
        if d > 36525:
            return ("error", "invalid_day")
        t = member(v, "time")
        if not is_text(t):
            return ("error", "invalid_time")
        m = CLOCK.match(trim(t))
        if not m:
            return ("error", "invalid_time_format")
        h, mi, s = (int(m[1]), int(m[2]), int(m[3] or 0))
        return ("daytime", (int(d) - 1) * DAY + h * 3600000 + mi * 60000 + s * 1000, (float(d) - 1) * 1440 + (float(h * 60 + mi) + (s / 60
                if m[3] else 0)))
    return ("error", type_name(v))
UNITMS = {"seconds": 1000, "minutes": 60000, "hours": 3600000}
ISO_REF = re.compile("P(?:(\\d+)Y)?(?:(\\d+)M)?(?:(\\d+)D)?(?:T(?:(\\d+)H)?(?:(\\d+)M)?(?:(\\d+)S)?)?\\Z", re.I | re.A)
ISO = re.compile("P(?:(\\d+)Y)?(?:(\\d+)M)?(?:(\\d+)W)?(?:(\\d+)D)?(T(?:(\\d+)H)?(?:(\\d+)M)?(?:(\\d+)S)?)?\\Z", re.I | re.A)
SHORT = re.compile("([0-9]+(?:\\.[0-9]+)?)([smhdwWM])\\Z")


def duration_reference(v, unit):
    """minutes or None"""
    if is_number(v):
        if float(v) != math.floor(v) or v <= 0 or (not unit):
            return None
        n = float(v)
        return {"seconds": n / 60, "minutes": n, "hours": n * 60}[unit]
    if not is_text(v):
        return None
    t = trim(v)
    m = ISO_REF.match(t)
    if m and t.upper() != "P":
        Y, M, D, H, Mi, S = (float(x or 0) for x in m.groups())
        return Y * 525600 + M * 43200 + D * 1440 + H * 60 + Mi + S / 60
    m = SHORT.match(t)
    if m:
        n = float(m[1])
        if not n > 0 or math.isinf(n):
            return None
        return {"s": n / 60, "m": n, "h": n * 60, "d": n * 1440, "w": n * 10080, "W": n * 10080, "M": n * 43200}[m[2]]
    return None
HUNDRED_YEARS = 36525 * DAY


def duration_host(v, unit, form):
    """('ok', months, ms) or ('error', reason)"""
    if is_number(v):
        if float(v) != math.floor(v) or v <= 0:
            return ("error", "number")
        if not unit:
            return ("error", "number")
        ms = int(v) * UNITMS[unit]
        return ("ok", 0, ms) if ms <= HUNDRED_YEARS else ("error", "out_of_range")
    if not is_text(v):
        return ("error", "type")
    t = trim(v)
    m = ISO.match(t)
    if m and any((x is not None for x in (m[1], m[2], m[3], m[4], m[6], m[7], m[8]))) and (not (m[5] is not None and len(m[5]) == 1)):
        Y, M, W, D, H, Mi, S = (int(m[i] or 0) for i in (1, 2, 3, 4, 6, 7, 8))
        months = 12 * Y + M
        rest = (((W * 7 + D) * 24 + H) * 60 + Mi) * 60000 + S * 1000
        if months == 0 and rest == 0:
            return ("error", "zero")
        if months > 1200 or rest > HUNDRED_YEARS or (months == 1200 and rest):
            return ("error", "out_of_range")
        if months and form not in ("datetime", None):
            return ("error", "calendar_needs_datetime")
        return ("ok", months, rest)
    m = SHORT.match(t)
    if m:
        from fractions import Fraction
        n = Fraction(m[1])
        if m[2] == "M":
            if n == 0:
                return ("error", "zero")
            if n.denominator != 1:
                return ("error", "calendar_fraction")
            if n > 1200:
                return ("error", "out_of_range")
            if form not in ("datetime", None):
                return ("error", "calendar_needs_datetime")
            return ("ok", int(n), 0)
        ms = n * {"s": 1000, "m": 60000, "h": 3600000, "d": DAY, "w": 7 * DAY, "W": 7 * DAY}[m[2]]
        if n == 0:
            return ("error", "zero")
        r = math.floor(ms + Fraction(1, 2))
        if r < 1:
            return ("error", "zero")
        return ("ok", 0, r) if r <= HUNDRED_YEARS else ("error", "out_of_range")
    return ("error", "string")


def add_months(days, months):
    d = date_of(days)
    k = d.year * 12 + d.month - 1 + months
    y, mo = divmod(k, 12)
    mo += 1
    last = [31, 29 if y % 4 == 0 and (y % 100 or y % 400 == 0) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][mo - 1]
    e = 400 * ((y - 1) // 400)
    return day_number(y - e, mo, min(d.day, last)) + e // 400 * 146097
_ZONES = available_timezones()


def zone_of(name):
    if name in ("UTC", "Etc/UTC", "GMT", "Z"):
        return datetime.timezone.utc
    if name in _ZONES and name != "localtime":
        return ZoneInfo(name)
    return None


def offset_of(z, days, ms=None):
    """offset in minutes at local midnight of days (ms None), or at the UTC instant days+ms"""
    d = date_of(days)
    if ms is None:
        return int(datetime.datetime(d.year, d.month, d.day, tzinfo=z).utcoffset().total_seconds() // 60)
    dt = datetime.datetime(d.year, d.month, d.day, tzinfo=datetime.timezone.utc) + datetime.timedelta(milliseconds=ms)
    return dt.astimezone(z).utcoffset().total_seconds() / 60
