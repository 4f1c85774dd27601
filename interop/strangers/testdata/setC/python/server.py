"""Logbook of a small observatory as an MCP server, standard library only.

Runs on stdio, or over streamable HTTP with `--http PORT`.
DEFECT=name in the environment switches one mistake on.
"""
import base64
import hashlib
import hmac
import json
import math
import os
import re
import secrets
import select
import socket
import struct
import sys
import threading
import time
import uuid
import zlib
from datetime import date, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

DEFECT = os.environ.get("DEFECT", "")


def defect(name):
    """Tell whether the named mistake is switched on."""
    return DEFECT == name


V2024, V2025A, V2025B, V2025C, V2026 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
SESSION_VERSIONS = [V2025C, V2025B, V2025A, V2024]
ALL_VERSIONS = [V2026] + SESSION_VERSIONS
META = "io.modelcontextprotocol/"
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
SECRET = secrets.token_bytes(32)
INSTRUCTIONS = "Targets are Messier numbers, M1 to M110. The log of a target is the resource obs://log/M31."


class RpcError(Exception):
    def __init__(self, code, message, data=None, status=200):
        super().__init__(message)
        self.code, self.message, self.data, self.status = code, message, data, status

    def body(self):
        e = {"code": self.code, "message": self.message}
        if self.data is not None:
            e["data"] = self.data
        return e


class ToolError(Exception):
    """Ends a tool call with a result that has isError."""


class Cancelled(Exception):
    """The client does not want the answer any more."""


class NeedInput(Exception):
    """The stateless client has to answer a question first."""

    def __init__(self, key, method, params):
        super().__init__(key)
        self.key, self.method, self.params = key, method, params


def invalid_params(text, status=200):
    return RpcError(-32602, text, status=status)


def dumps(value):
    """Write JSON on one line, as UTF-8 text."""
    if defect("nan-in-result"):
        return json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate from the client
        text = json.dumps(value, allow_nan=False)
    return text


def _no_constant(name):
    raise ValueError("not JSON: " + name)


def loads(data):
    return json.loads(data.decode("utf-8"), parse_constant=_no_constant)


def good_id(value):
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def id_key(value):
    """Keep 7 and "7" apart."""
    return (type(value).__name__, value)


def response(msg_id, result):
    return {"jsonrpc": "2.0", "id": msg_id, "result": result}


def error_response(msg_id, err, version=None):
    """Make an error response; the id is left out, or null in older revisions, when it could not be read."""
    r = {"jsonrpc": "2.0", "error": err.body()}
    if msg_id is not None:
        r["id"] = msg_id
    elif version in (V2024, V2025A, V2025B):
        r["id"] = None
    return r


def notification(method, params=None):
    n = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        n["params"] = params
    return n


# ---------------------------------------------------------------- the sky

KINDS = ["galaxy", "nebula", "cluster", "star"]
NAMES = {1: "Crab Nebula", 8: "Lagoon Nebula", 13: "Hercules Cluster", 27: "Dumbbell Nebula", 31: "Andromeda Galaxy",
         42: "Grande nébuleuse d’Orion", 44: "Praesepe – Bienenkörbchen", 45: "Plejády (Sedm sester)", 51: "Whirlpool Galaxy",
         57: "Ring Nebula", 81: "Bode’s Galaxy", 101: "Pinwheel Galaxy", 104: "Sombrero Galaxy"}


def _catalogue():
    objects = {}
    for n in range(1, 111):
        kind = KINDS[(n * 7) % 3] if n not in (40, 73) else "star"
        objects["M%d" % n] = {"id": "M%d" % n, "name": NAMES.get(n, "Messier %d" % n), "kind": kind,
                              "magnitude": round(3.1 + (n * 37 % 71) / 10, 1), "altitude": (n * 53) % 80}
    return objects


OBJECTS = _catalogue()
FEATURED = ["M1", "M13", "M31", "M42", "M45", "M51", "M57"]
SEEING = {"2026-03-01": [1.8, 2.1, 1.9], "2026-03-02": [2.6, 2.4], "2026-03-03": [], "2026-03-04": [1.2, 1.1, 1.4, 1.3]}


def picture(n):
    """A grey picture of 16 by 16 points as a PNG."""
    rows = b"".join(b"\0" + bytes(((x * y * n) ^ (x + y * n)) % 256 for x in range(16)) for y in range(16))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def sound(n, seconds):
    """A tone as a WAV file, 2000 samples a second."""
    data = bytes(int(128 + 100 * math.sin(i * (200 + n) / 320)) for i in range(2000 * seconds))
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 2000, 2000, 1, 8) \
        + b"data" + struct.pack("<I", len(data)) + data


def b64(data):
    return base64.b64encode(data).decode("ascii")


class Book:
    """The log entries, which the tool log_observation changes."""

    def __init__(self):
        self.lock = threading.Lock()
        self.entries = {"M31": ["2026-03-01 Dust lanes well seen."], "M42": ["2026-03-02 Trapèze split at 80×."]}
        self.count = 2

    def add(self, target, line):
        """Give the number of the entry, and whether the log is a new resource."""
        with self.lock:
            fresh = target not in self.entries
            self.entries.setdefault(target, []).append(line)
            self.count += 1
            return self.count, fresh

    def text(self, target):
        with self.lock:
            return "\n".join(self.entries[target]) + "\n" if target in self.entries else None


BOOK = Book()


def resource_list():
    out = []
    for t in FEATURED:
        size = len(catalogue_text(t).encode("utf-8"))
        out.append({"uri": "sky://catalog/" + t, "name": t, "title": OBJECTS[t]["name"], "mimeType": "application/json", "size": size})
    out.append({"uri": "sky://image/M31", "name": "M31-image", "title": "Picture of M31", "mimeType": "image/png", "size": len(picture(31)),
                "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-03-01T22:10:00Z"}})
    with BOOK.lock:
        targets = sorted(BOOK.entries)
    for t in targets:
        out.append({"uri": "obs://log/" + t, "name": "log-" + t, "title": "Observations of " + t, "mimeType": "text/plain"})
    return out


TEMPLATES = [
    {"uriTemplate": "sky://catalog/{target}", "name": "catalog", "title": "Catalogue entry", "mimeType": "application/json"},
    {"uriTemplate": "sky://image/{target}", "name": "image", "title": "Picture of a target", "mimeType": "image/png"},
    {"uriTemplate": "obs://log/{target}", "name": "log", "title": "Observations of a target", "mimeType": "text/plain"},
]


def catalogue_text(target):
    return json.dumps(OBJECTS[target], ensure_ascii=False)


def read_resource(uri):
    """Give the contents of a resource, or None."""
    m = re.fullmatch(r"(sky://catalog|sky://image|obs://log)/(M[0-9]{1,3})", uri)
    if not m or m[2] not in OBJECTS:
        return None
    where, target = m[1], m[2]
    if where == "sky://catalog":
        return [{"uri": uri, "mimeType": "application/json", "text": catalogue_text(target)}]
    if where == "sky://image":
        data = picture(int(target[1:]))
        blob = str(base64.b64encode(data)) if defect("bytes-repr-blob") else b64(data)
        return [{"uri": uri, "mimeType": "image/png", "blob": blob}]
    text = BOOK.text(target)
    return None if text is None else [{"uri": uri, "mimeType": "text/plain", "text": text}]


def can_subscribe(uri):
    m = re.fullmatch(r"obs://log/(M[0-9]{1,3})", uri)
    return bool(m and m[1] in OBJECTS) or read_resource(uri) is not None


# ---------------------------------------------------------------- sessions and calls

class Session:
    """What initialize opens."""

    def __init__(self, version, caps):
        self.id = None
        self.version, self.caps = version, caps
        self.level = "info"
        self.subs = set()
        self.pending = {}
        self.live = {}
        self.lock = threading.Lock()
        self.asked = 0
        self.unsolicited = None  # takes a message that belongs to no call

    def deliver(self, msg):
        with self.lock:
            box = self.pending.pop(id_key(msg.get("id")), None)
        if box:
            box[1].append(msg)
            box[0].set()


class Listener:
    def __init__(self, msg_id, emit, wants_list, uris):
        self.id, self.emit, self.wants_list, self.uris = msg_id, emit, wants_list, uris


SESSIONS = set()
LISTENERS = []
STATE = threading.RLock()


class Call:
    """One request under way."""

    def __init__(self, msg, session):
        self.msg, self.session = msg, session
        self.method = msg["method"]
        self.params = msg.get("params", {})
        self.meta = self.params.get("_meta", {})
        self.modern = is_modern(msg) or (session is None and self.method not in ("initialize", "ping"))
        self.cancel = threading.Event()
        self.emit = None
        self.level = None
        self.answers = {}
        self.token = self.meta.get("progressToken")
        if self.token is not None and not good_id(self.token):
            raise invalid_params("progressToken must be a string or an integer")
        if self.modern:
            self.version = V2026
            self.check_meta()
        else:
            self.version = session.version if session else ""
            self.caps = session.caps if session else {}

    def check_meta(self):
        version = self.meta.get(META + "protocolVersion")
        if not isinstance(version, str):
            raise invalid_params("_meta lacks " + META + "protocolVersion", 400)
        if version != V2026:
            raise RpcError(-32022, "Unsupported protocol version", {"supported": ALL_VERSIONS, "requested": version}, 400)
        self.caps = self.meta.get(META + "clientCapabilities")
        if not isinstance(self.caps, dict):
            raise invalid_params("_meta lacks " + META + "clientCapabilities", 400)
        if META + "logLevel" in self.meta:
            self.level = self.meta[META + "logLevel"]
            if self.level not in LEVELS:
                raise invalid_params("unknown log level")

    def since(self, version):
        return self.version >= version

    def progress(self, n, total, text):
        if self.token is None or self.cancel.is_set():
            return
        p = {"progressToken": self.token, "progress": n, "total": total}
        if self.since(V2025A):
            p["message"] = text
        self.emit(notification("notifications/progress", p))

    def log(self, level, data):
        if self.cancel.is_set():
            return
        least = self.level if self.modern else self.session.level
        if least is None:
            return
        if defect("level-by-alphabet"):
            if level < least:
                return
        elif LEVELS.index(level) < LEVELS.index(least):
            return
        self.emit(notification("notifications/message", {"level": level, "logger": "observatory", "data": data}))

    def sleep(self, seconds):
        if self.cancel.wait(seconds):
            raise Cancelled()

    def needs(self, feature):
        """Tell whether the client can be asked; in the stateless era the call ends when it cannot."""
        have = self.caps.get(feature)
        ok = isinstance(have, dict)
        if ok and feature == "elicitation":
            ok = (not have or "form" in have) and self.since(V2025B)
        if not ok and self.modern:
            need = {feature: {"form": {}}} if feature == "elicitation" else {feature: {}}
            if defect("required-caps-list"):
                need = [feature]
            raise RpcError(-32021, "the client must support " + feature, {"requiredCapabilities": need}, 400)
        return ok

    def ask(self, key, method, params):
        """Put a question to the client and give its result."""
        if self.modern:
            if isinstance(self.answers.get(key), dict):
                return self.answers[key]
            raise NeedInput(key, method, params)
        s = self.session
        with s.lock:
            s.asked += 1
            ask_id = "obs-%d" % s.asked
            box = s.pending[id_key(ask_id)] = (threading.Event(), [])
        self.emit({"jsonrpc": "2.0", "id": ask_id, "method": method, "params": params})
        end = time.monotonic() + 120
        while not box[0].wait(0.05):
            if self.cancel.is_set() or time.monotonic() > end:
                with s.lock:
                    s.pending.pop(id_key(ask_id), None)
                self.emit(notification("notifications/cancelled", {"requestId": ask_id}))
                if self.cancel.is_set():
                    raise Cancelled()
                raise ToolError("The client did not answer in time.")
        msg = box[1][0]
        if not isinstance(msg.get("result"), dict):
            raise ToolError("The client refused the question.")
        return msg["result"]


def is_modern(msg):
    params = msg.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    keys = meta if isinstance(meta, dict) else {}
    return any(k in keys for k in (META + "protocolVersion", META + "clientCapabilities", META + "clientInfo")) \
        or msg.get("method") in ("server/discover", "subscriptions/listen")


def check_message(msg):
    """Check one decoded message; give 'request', 'note' or 'response'."""
    if not isinstance(msg, dict):
        raise RpcError(-32600, "the message is not an object", status=400)
    if msg.get("jsonrpc") != "2.0":
        raise RpcError(-32600, 'jsonrpc must be "2.0"', status=400)
    if "method" not in msg:
        if "result" not in msg and "error" not in msg:
            raise RpcError(-32600, "neither a request nor a response", status=400)
        return "response"
    if not isinstance(msg["method"], str):
        raise RpcError(-32600, "method must be a string", status=400)
    if "id" in msg and not good_id(msg["id"]):
        raise RpcError(-32600, "id must be a string or an integer", status=400)
    if not isinstance(msg.get("params", {}), dict):
        raise invalid_params("params must be an object", 400)
    if not isinstance(msg.get("params", {}).get("_meta", {}), dict):
        raise invalid_params("_meta must be an object", 400)
    if defect("zero-id-unanswered"):
        return "request" if msg.get("id") else "note"
    return "request" if "id" in msg else "note"


def safe_id(msg):
    return msg["id"] if isinstance(msg, dict) and good_id(msg.get("id")) else None


# ---------------------------------------------------------------- tools

TARGET = {"type": "string", "pattern": "^M[0-9]{1,3}$", "description": "Messier number, M1 to M110"}


def obj(props, *required):
    o = {"type": "object", "properties": props, "additionalProperties": False}
    if required:
        o["required"] = list(required)
    return o


def check(schema, value, path):
    """Validate value against the few schema words used here; give a complaint or None."""
    kind = schema.get("type")
    if kind == "object":
        if not isinstance(value, dict):
            return path + " must be an object"
        for r in schema.get("required", []):
            if r not in value:
                return "%s.%s is missing" % (path, r)
        for k, v in value.items():
            if k not in schema["properties"]:
                return "%s.%s is not known" % (path, k)
            bad = check(schema["properties"][k], v, "%s.%s" % (path, k))
            if bad:
                return bad
    elif kind == "string":
        if not isinstance(value, str):
            return path + " must be a string"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return path + " must look like " + schema["pattern"]
        if len(value) < schema.get("minLength", 0) or len(value) > schema.get("maxLength", 10 ** 9):
            return path + " has the wrong length"
    elif kind == "boolean":
        if not isinstance(value, bool):
            return path + " must be true or false"
    elif kind == "integer":
        if isinstance(value, bool) and not defect("true-counts-as-integer"):
            return path + " must be an integer"
        if not isinstance(value, int) and not (isinstance(value, float) and value.is_integer()):
            return path + " must be an integer"
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            return path + " is out of range"
    elif kind == "array":
        if not isinstance(value, list):
            return path + " must be an array"
        if len(value) > schema.get("maxItems", 10 ** 9):
            return path + " has too many items"
        if schema.get("uniqueItems") and len(set(map(repr, value))) != len(value):
            return path + " must not repeat an item"
        for i, v in enumerate(value):
            bad = check(schema["items"], v, "%s[%d]" % (path, i))
            if bad:
                return bad
    if "enum" in schema and value not in schema["enum"]:
        return path + " must be one of " + ", ".join(map(str, schema["enum"]))
    return None


def text(s):
    return {"type": "text", "text": s}


def structured(value):
    return {"content": [text(dumps(value))], "structuredContent": value}


def target_of(args):
    o = OBJECTS.get(args["target"])
    if not o:
        raise ToolError("There is no such target.")
    return o


def find_object(call, a):
    query = a["query"].lower()
    found = [o for o in OBJECTS.values() if (query in o["name"].lower() or query == o["id"].lower())
             and a.get("kind", o["kind"]) == o["kind"]]
    if not found and defect("print-on-stdout"):
        print("nothing found for", a["query"], flush=True)
    limit = int(a.get("limit", 10))
    return structured({"total": len(found), "matches": [
        {k: o[k] for k in ("id", "name", "kind", "magnitude")} for o in found[:limit]]})


def seeing_stats(call, a):
    samples = SEEING.get(a["night"])
    if samples is None:
        raise ToolError("Nothing is known of that night.")
    if defect("nan-in-result"):
        mean = sum(samples) / len(samples) if samples else float("nan")
    else:
        mean = round(sum(samples) / len(samples), 2) if samples else None
    return structured({"night": a["night"], "samples": len(samples), "mean_arcsec": mean})


def plan_exposures(call, a):
    total, frames = int(a["total_seconds"]), int(a["frames"])
    each, rest = divmod(total, frames)
    if each < 1:
        raise ToolError("That is less than a second for each frame.")
    if defect("seconds-by-true-division"):
        each, rest = total / frames, 0
    return structured({"frames": frames, "seconds_each": each, "left_over": rest, "filter": a.get("filter", "none")})


def stack_frames(call, a):
    o = target_of(a)
    frames = int(a["frames"])
    phases = (["calibrating"] if a.get("calibrate") else []) + ["stacking"]
    total, done = frames * len(phases), 0
    call.log("debug", {"event": "stack", "target": o["id"]})
    call.log("info", "Stacking %d frames of %s" % (frames, o["id"]))
    for phase in phases:
        if defect("progress-restarts"):
            total, done = frames, 0
        for i in range(frames):
            call.sleep(0.05)
            done += 1
            call.progress(done, total, "%s frame %d" % (phase, i + 1))
    if o["altitude"] < 20:
        call.log("warning", {"event": "low target", "target": o["id"], "altitude": o["altitude"]})
    if o["altitude"] < 5:
        call.log("error", "The target stands on the horizon")
    return structured({"target": o["id"], "frames": frames, "calibrated": bool(a.get("calibrate")), "noise": round(8 / frames, 3)})


def entry_tags(kind, tags=[]):
    """The tags of an entry: those given, and the kind of the object."""
    if not defect("tags-pile-up"):
        tags = [t for t in tags if t != kind]
    tags.append(kind)
    return tags


def log_observation(call, a):
    o = target_of(a)
    tags = entry_tags(o["kind"], a["tags"]) if "tags" in a else entry_tags(o["kind"])
    line = a["note"].replace("\n", " ") + " " + " ".join("#" + t for t in tags)
    number, fresh = BOOK.add(o["id"], line)
    uri = "obs://log/" + o["id"]
    resource_changed(uri, fresh)
    res = structured({"entry": number, "target": o["id"], "tags": list(tags)})
    if call.since(V2025B):
        link = {"type": "resource_link", "uri": uri, "name": "log-" + o["id"], "mimeType": "text/plain"}
        if defect("resource-link-without-name"):
            link["title"] = link.pop("name")
        res["content"].append(link)
    return res


def sky_sound(call, a):
    o = target_of(a)
    data = sound(int(o["id"][1:]), int(a.get("seconds", 1)))
    if call.since(V2025A):
        return {"content": [{"type": "audio", "data": b64(data), "mimeType": "audio/wav"}]}
    return {"content": [{"type": "resource", "resource": {
        "uri": "sky://sound/" + o["id"], "mimeType": "audio/wav", "blob": b64(data)}}]}


def point_telescope(call, a):
    o = target_of(a)
    if a.get("park"):
        return structured({"pointed": False, "target": o["id"], "speed": 0})
    if o["altitude"] < 30:
        if not call.needs("elicitation"):
            raise ToolError("The target is low and your client cannot be asked; choose one above 30 degrees.")
        props = {"confirm": {"type": "boolean", "title": "Point anyway", "default": False},
                 "reason": {"type": "string", "title": "Reason", "maxLength": 100},
                 "dome": {"type": "string", "title": "Dome", "enum": ["open", "half", "closed"]}}
        if defect("elicit-nested-schema"):
            props["window"] = {"type": "object", "properties": {"start": {"type": "string"}, "minutes": {"type": "integer"}}}
        params = {"message": "%s stands only %d degrees high. Point anyway?" % (o["id"], o["altitude"]),
                  "requestedSchema": {"type": "object", "properties": props, "required": ["confirm"]}}
        if call.since(V2025C):
            params["mode"] = "form"
        answer = call.ask("low_target", "elicitation/create", params)
        content = answer.get("content")
        if answer.get("action") != "accept" or not isinstance(content, dict) or content.get("confirm") is not True:
            return structured({"pointed": False, "target": o["id"], "speed": 0})
    return structured({"pointed": True, "target": o["id"], "speed": int(a.get("speed", 3))})


def moon_phases(call, a):
    first = date(int(a["year"]), int(a["month"]), 1)
    phases = []
    for i in range(31):
        day = first + timedelta(days=i)
        if day.month != first.month:
            break
        age = ((day - date(2000, 1, 6)).days % 29.530588)
        for name, at in (("new", 0), ("first quarter", 7.38), ("full", 14.77), ("last quarter", 22.15)):
            if 0 <= age - at < 1:
                phases.append({"date": day.isoformat(), "phase": name})
    if call.modern or defect("array-output-everywhere"):
        return structured(phases)
    return structured({"phases": phases})


PHASES = {"type": "array", "items": obj({
    "date": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    "phase": {"type": "string", "enum": ["new", "first quarter", "full", "last quarter"]}}, "date", "phase")}

TOOLS = [
    dict(name="find_object", title="Find an object", run=find_object, ro=True,
         description="Searches the catalogue by name or number.",
         input=obj({"query": {"type": "string", "minLength": 1, "maxLength": 80}, "kind": {"type": "string", "enum": KINDS},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 20}}, "query"),
         output=obj({"total": {"type": "integer", "minimum": 0}, "matches": {"type": "array", "items": obj({
             "id": {"type": "string"}, "name": {"type": "string"}, "kind": {"type": "string", "enum": KINDS},
             "magnitude": {"type": "number"}}, "id", "name", "kind", "magnitude")}}, "total", "matches")),
    dict(name="seeing_stats", title="Seeing of a night", run=seeing_stats, ro=True,
         description="Mean seeing of one night; nights from 2026-03-01 to 2026-03-04 are known.",
         input=obj({"night": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}}, "night"),
         output=obj({"night": {"type": "string"}, "samples": {"type": "integer", "minimum": 0},
                     "mean_arcsec": {"type": ["number", "null"], "description": "null without samples"}},
                    "night", "samples", "mean_arcsec")),
    dict(name="plan_exposures", title="Plan exposures", run=plan_exposures, ro=True,
         description="Divides an observing time into frames of whole seconds.",
         input=obj({"total_seconds": {"type": "integer", "minimum": 1, "maximum": 86400},
                    "frames": {"type": "integer", "minimum": 1, "maximum": 100},
                    "filter": {"type": "string", "enum": ["none", "H-alpha", "O-III"]}}, "total_seconds", "frames"),
         output=obj({"frames": {"type": "integer"}, "seconds_each": {"type": "integer", "minimum": 1},
                     "left_over": {"type": "integer", "minimum": 0}, "filter": {"type": "string"}},
                    "frames", "seconds_each", "left_over", "filter")),
    dict(name="stack_frames", title="Stack frames", run=stack_frames, ro=True,
         description="Stacks the last frames of a target; reports progress and logs.",
         input=obj({"target": TARGET, "frames": {"type": "integer", "minimum": 2, "maximum": 20},
                    "calibrate": {"type": "boolean", "description": "Calibrate the frames first"}}, "target", "frames"),
         output=obj({"target": {"type": "string"}, "frames": {"type": "integer"}, "calibrated": {"type": "boolean"},
                     "noise": {"type": "number"}}, "target", "frames", "calibrated", "noise")),
    dict(name="log_observation", title="Log an observation", run=log_observation, ro=False,
         description="Writes an entry into the log of a target.",
         input=obj({"target": TARGET, "note": {"type": "string", "minLength": 1},
                    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 8, "uniqueItems": True}}, "target", "note"),
         output=obj({"entry": {"type": "integer"}, "target": {"type": "string"},
                     "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}, "entry", "target", "tags")),
    dict(name="sky_sound", title="Sound of a target", run=sky_sound, ro=True, description="The light of a target as a sound.",
         input=obj({"target": TARGET, "seconds": {"type": "integer", "minimum": 1, "maximum": 3}}, "target"), output=None),
    dict(name="point_telescope", title="Point the telescope", run=point_telescope, ro=False,
         description="Points the telescope; asks back when the target is low.",
         input=obj({"target": dict(TARGET, **{"x-mcp-header": "Target"}),
                    "speed": {"type": "integer", "minimum": 1, "maximum": 9, "x-mcp-header": "Slew-Speed"},
                    "park": {"type": "boolean", "x-mcp-header": "Park"}}, "target"),
         output=obj({"pointed": {"type": "boolean"}, "target": {"type": "string"}, "speed": {"type": "integer"}},
                    "pointed", "target", "speed")),
    dict(name="moon_phases", title="Phases of the moon", run=moon_phases, ro=True, description="The phases of one month.",
         input=obj({"year": {"type": "integer", "minimum": 2000, "maximum": 2099},
                    "month": {"type": "integer", "minimum": 1, "maximum": 12}}, "year", "month"), output=PHASES),
]
BY_NAME = {t["name"]: t for t in TOOLS}


def tool_list(call):
    out = []
    for t in TOOLS:
        d = {"name": t["name"], "description": t["description"], "inputSchema": t["input"]}
        if call.since(V2025A):
            d["annotations"] = {"readOnlyHint": t["ro"], "openWorldHint": False}
        if call.since(V2025B):
            d["title"] = t["title"]
            if t["output"]:
                d["outputSchema"] = t["output"]
                # Before 2026-07-28 the root of an output schema is an object.
                if t["output"]["type"] != "object" and not call.modern and not defect("array-output-everywhere"):
                    d["outputSchema"] = obj({"phases": t["output"]}, "phases")
        out.append(d)
    return out


def sign(payload):
    body = base64.urlsafe_b64encode(json.dumps(payload).encode()).decode()
    return body + "." + hmac.new(SECRET, body.encode(), hashlib.sha256).hexdigest()


def unsign(state):
    """Give the payload of a state we made, or None."""
    body, _, mac = state.partition(".")
    good = hmac.new(SECRET, body.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(mac.encode("utf-8", "replace"), good.encode()) and not defect("state-not-verified"):
        return None
    try:
        payload = json.loads(base64.urlsafe_b64decode(body))
        return payload if isinstance(payload, dict) else None
    except ValueError:
        return None


def call_tool(call):
    p = call.params
    name = p.get("name")
    if not isinstance(name, str):
        raise invalid_params("name must be a string")
    tool = BY_NAME.get(name)
    if not tool:
        if defect("unknown-tool-as-result"):
            return {"content": [text("KeyError: " + repr(name))], "isError": True}
        raise invalid_params("Unknown tool: " + name)
    args = p.get("arguments", {})
    if not isinstance(args, dict):
        raise invalid_params("arguments must be an object")
    bad = check(tool["input"], args, "arguments")
    if bad:
        return {"content": [text(bad)], "isError": True}
    digest = hashlib.sha256(json.dumps([name, args], sort_keys=True).encode()).hexdigest()[:24]
    if call.modern and "requestState" in p:
        payload = unsign(p["requestState"]) if isinstance(p["requestState"], str) else None
        if not payload or payload.get("call") != digest or payload.get("until", 0) < time.time():
            raise invalid_params("requestState does not belong to this call")
        call.answers = p.get("inputResponses", {})
        if not isinstance(call.answers, dict):
            raise invalid_params("inputResponses must be an object")
    try:
        res = tool["run"](call, args)
    except ToolError as e:
        return {"content": [text(str(e))], "isError": True}
    except NeedInput as q:
        return {"resultType": "input_required", "inputRequests": {q.key: {"method": q.method, "params": q.params}},
                "requestState": sign({"call": digest, "until": int(time.time()) + 900})}
    if not call.since(V2025B):
        res.pop("structuredContent", None)
    return res


# ---------------------------------------------------------------- prompts and completion

PROMPTS = [
    {"name": "observing_plan", "title": "Observing plan", "description": "A plan for one night and one target.",
     "arguments": [{"name": "target", "description": "Messier number", "required": True},
                   {"name": "experience", "description": "beginner or expert", "required": False}]},
    {"name": "compare_objects", "title": "Compare two objects", "description": "Puts two catalogue entries side by side.",
     "arguments": [{"name": "first", "description": "Messier number", "required": True},
                   {"name": "second", "description": "Messier number", "required": True}]},
    {"name": "outreach_text", "title": "Text for visitors", "description": "A short text for the visitors' board.",
     "arguments": [{"name": "language", "description": "Language of the text", "required": False}]},
]


def get_prompt(call):
    name, args = call.params.get("name"), call.params.get("arguments", {})
    prompt = next((p for p in PROMPTS if p["name"] == name), None)
    if not prompt:
        raise invalid_params("unknown prompt")
    if not isinstance(args, dict) or not all(isinstance(v, str) for v in args.values()):
        raise invalid_params("arguments must be an object of strings")
    for a in prompt["arguments"]:
        if a["required"] and a["name"] not in args:
            raise invalid_params("argument %s is missing" % a["name"])
    for a in ("target", "first", "second"):
        if any(d["name"] == a for d in prompt["arguments"]) and args[a] not in OBJECTS:
            raise invalid_params("argument %s is not a Messier number" % a)

    def say(content, role="user"):
        return {"role": role, "content": content}

    def entry(target):
        return {"type": "resource", "resource": read_resource("sky://catalog/" + target)[0]}
    if name == "observing_plan":
        msgs = [say(text("Plan an evening with %s for a visitor who is %s." % (args["target"], args.get("experience", "a beginner")))),
                say(entry(args["target"]))]
    elif name == "compare_objects":
        blocks = [text("Compare these two objects."), entry(args["first"]), entry(args["second"])]
        msgs = [say(blocks)] if defect("prompt-content-list") else [say(b) for b in blocks]
    else:
        msgs = [say(text("Write three sentences about tonight's sky in %s." % args.get("language", "English"))),
                say(text("Which targets are planned?"), "assistant")]
    return {"description": prompt["description"], "messages": msgs}


def complete(call):
    p = call.params
    ref, arg = p.get("ref"), p.get("argument")
    if not isinstance(ref, dict) or not isinstance(arg, dict) or not isinstance(arg.get("name"), str) \
            or not isinstance(arg.get("value"), str):
        raise invalid_params("ref and argument are needed")
    if ref.get("type") == "ref/prompt":
        prompt = next((x for x in PROMPTS if x["name"] == ref.get("name")), None)
        if not prompt:
            raise invalid_params("unknown prompt")
        names = [a["name"] for a in prompt["arguments"]]
    elif ref.get("type") == "ref/resource":
        if not any(t["uriTemplate"] == ref.get("uri") for t in TEMPLATES):
            raise invalid_params("unknown resource template")
        names = ["target"]
    else:
        raise invalid_params("unknown kind of ref")
    if arg["name"] not in names:
        raise invalid_params("unknown argument")
    if arg["name"] in ("target", "first", "second"):
        values = list(OBJECTS)
    elif arg["name"] == "experience":
        values = ["beginner", "expert"]
    else:
        values = ["English", "français", "Deutsch", "čeština", "日本語"]
    values = [v for v in values if v.lower().startswith(arg["value"].lower())]
    total = len(values)
    if not defect("all-completions-at-once"):
        values = values[:100]
    return {"completion": {"values": values, "total": total, "hasMore": total > len(values)}}


# ---------------------------------------------------------------- dispatch

def capabilities(version):
    caps = {"tools": {}, "prompts": {}, "resources": {"subscribe": True, "listChanged": True}}
    if not (version == V2026 and defect("logging-not-in-discover")):
        caps["logging"] = {}
    if version >= V2025A:
        caps["completions"] = {}
    return caps


def server_info(version):
    info = {"name": "observatory-log", "version": "0.9.2"}
    if version >= V2025B:
        info["title"] = "Logbook of the observatory"
    if version >= V2025C:
        info["description"] = "Catalogue, plans and log of a small observatory"
    return info


def initialize(msg):
    p = msg.get("params", {})
    if not isinstance(p.get("protocolVersion"), str) or not isinstance(p.get("capabilities"), dict):
        raise invalid_params("protocolVersion and capabilities are needed")
    version = p["protocolVersion"] if p["protocolVersion"] in SESSION_VERSIONS else V2025C
    session = Session(version, p["capabilities"])
    return session, {"protocolVersion": version, "capabilities": capabilities(version),
                     "serverInfo": server_info(version), "instructions": INSTRUCTIONS}


def paged(call, key, items, size):
    start = 0
    cursor = call.params.get("cursor")
    if cursor is not None:
        try:
            if defect("number-cursor"):
                start = int(cursor)
            else:
                name, _, n = base64.urlsafe_b64decode(cursor.encode("ascii")).decode("ascii").partition(":")
                start = int(n) if name == key else -1
        except (ValueError, AttributeError):
            start = -1
        if not 0 < start < len(items):
            raise invalid_params("unknown cursor")
    res = {key: items[start:start + size]}
    if start + size < len(items):
        if defect("number-cursor"):
            res["nextCursor"] = start + size
        else:
            res["nextCursor"] = base64.urlsafe_b64encode(("%s:%d" % (key, start + size)).encode()).decode()
    return res


def without_titles(call, items):
    if call.since(V2025B):
        return items
    return [{k: v for k, v in i.items() if k != "title"} for i in items]


def uri_of(call):
    uri = call.params.get("uri")
    if not isinstance(uri, str):
        raise invalid_params("uri must be a string")
    return uri


def not_found(call, uri):
    return RpcError(-32602 if call.modern else -32002, "Resource not found", {"uri": uri})


def dispatch(call):
    m = call.method
    if m == "tools/list":
        return paged(call, "tools", tool_list(call), 5)
    if m == "tools/call":
        return call_tool(call)
    if m == "resources/list":
        return paged(call, "resources", without_titles(call, resource_list()), 4)
    if m == "resources/templates/list":
        return paged(call, "resourceTemplates", without_titles(call, TEMPLATES), 2)
    if m == "resources/read":
        uri = uri_of(call)
        contents = read_resource(uri)
        if contents is None:
            raise not_found(call, uri)
        return {"contents": contents}
    if m == "prompts/list":
        return paged(call, "prompts", without_titles(call, PROMPTS), 2)
    if m == "prompts/get":
        return get_prompt(call)
    if m == "completion/complete":
        return complete(call)
    if call.modern:
        if m == "server/discover":
            return {"supportedVersions": ALL_VERSIONS, "capabilities": capabilities(V2026), "instructions": INSTRUCTIONS}
        if m == "subscriptions/listen":
            return listen(call)
    else:
        if m == "ping":
            return {}
        if m == "logging/setLevel":
            if call.params.get("level") not in LEVELS:
                raise invalid_params("unknown log level")
            call.session.level = call.params["level"]
            return None if defect("set-level-null") else {}
        if m == "resources/subscribe":
            uri = uri_of(call)
            if not can_subscribe(uri):
                raise not_found(call, uri)
            call.session.subs.add(uri)
            return {}
        if m == "resources/unsubscribe":
            uri = uri_of(call)
            if defect("unsubscribe-subscribes"):
                call.session.subs.add(uri)
            else:
                call.session.subs.discard(uri)
            return {}
    raise RpcError(-32601, "method not found: " + m, status=404)


CACHE = {"server/discover": (3600000, "public"), "tools/list": (600000, "public"), "prompts/list": (600000, "public"),
         "resources/list": (5000, "public"), "resources/templates/list": (600000, "public"), "resources/read": (1000, "private")}


def serve(call):
    """Run a call and give its result; adds what 2026-07-28 wants in every result."""
    try:
        res = dispatch(call)
    except (RpcError, Cancelled):
        raise
    except Exception as e:  # a mistake of ours
        print("internal error:", repr(e), file=sys.stderr)
        raise RpcError(-32603, "internal error")
    if call.cancel.is_set():
        raise Cancelled()
    if call.modern and res is not None:
        if defect("input-required-stamped-complete"):
            res["resultType"] = "complete"
        else:
            res.setdefault("resultType", "complete")
        if call.method in CACHE and not (defect("ttl-missing-on-read") and call.method == "resources/read"):
            res["ttlMs"], res["cacheScope"] = CACHE[call.method]
        res.setdefault("_meta", {})[META + "serverInfo"] = server_info(V2026)
    return res


def cancelled_reply(call):
    """What is sent for a cancelled call: nothing."""
    if defect("lsp-cancel-reply"):
        return error_response(call.msg["id"], RpcError(-32800, "Request cancelled"), call.version)
    return None


def listen(call):
    f = call.params.get("notifications")
    if not isinstance(f, dict):
        raise invalid_params("notifications must be an object")
    uris = f.get("resourceSubscriptions")
    if uris is not None and (not isinstance(uris, list) or not all(isinstance(u, str) for u in uris)):
        raise invalid_params("resourceSubscriptions must be a list of strings")
    ack = {}
    if f.get("resourcesListChanged") is True:
        ack["resourcesListChanged"] = True
    if uris is not None:
        ack["resourceSubscriptions"] = uris
    who = Listener(call.msg["id"], call.emit, "resourcesListChanged" in ack, set(uris or ()))
    with STATE:
        call.emit(notification("notifications/subscriptions/acknowledged",
                               {"_meta": {META + "subscriptionId": who.id}, "notifications": ack}))
        LISTENERS.append(who)
    call.cancel.wait()
    with STATE:
        LISTENERS.remove(who)
    raise Cancelled()


def resource_changed(uri, fresh):
    """Tell everybody who asked."""
    with STATE:
        for s in list(SESSIONS):
            if fresh:
                s.unsolicited(notification("notifications/resources/list_changed"))
            if uri in s.subs:
                s.unsolicited(notification("notifications/resources/updated", {"uri": uri}))
        jobs = []
        for who in LISTENERS:
            if defect("listen-late-binding"):
                jobs.append((who, lambda: {META + "subscriptionId": who.id}))
            else:
                jobs.append((who, lambda who=who: {META + "subscriptionId": who.id}))
        for target, meta in jobs:
            if fresh and target.wants_list:
                target.emit(notification("notifications/resources/list_changed", {"_meta": meta()}))
            if uri in target.uris:
                target.emit(notification("notifications/resources/updated", {"_meta": meta(), "uri": uri}))


# ---------------------------------------------------------------- stdio

class Stdio:
    def __init__(self):
        self.out = sys.stdout.buffer
        self.lock = threading.Lock()
        self.session = None
        self.live = {}
        self.threads = []

    def write(self, msg):
        if defect("cp1252-stdout"):
            line = dumps(msg).encode("cp1252", "replace") + b"\n"
        else:
            line = dumps(msg).encode("utf-8") + b"\n"
        with self.lock:
            self.out.write(line)
            self.out.flush()

    def version(self):
        return self.session.version if self.session else None

    def run(self):
        for raw in sys.stdin.buffer:
            raw = raw.strip()
            if raw:
                self.line(raw)
        end = time.monotonic() + 0.4
        for t in self.threads:
            t.join(max(0, end - time.monotonic()))
        sys.stdout.flush()
        os._exit(0)

    def line(self, raw):
        try:
            msg = loads(raw)
        except (ValueError, RecursionError):
            self.write(error_response(None, RpcError(-32700, "the line is not JSON"), self.version()))
            return
        if isinstance(msg, list):
            if self.version() != V2025A:
                self.write(error_response(None, RpcError(-32600, "batches are not supported"), self.version()))
            elif not msg:
                self.write(error_response(None, RpcError(-32600, "the batch is empty"), self.version()))
            else:
                self.batch(msg)
            return
        self.one(msg, lambda reply: reply is not None and self.write(reply))

    def batch(self, msgs):
        """An array of messages, which only 2025-03-26 allows; the answers come as one array."""
        left, replies, lock = [len(msgs)], [], threading.Lock()

        def done(reply):
            with lock:
                if reply is not None:
                    replies.append(reply)
                left[0] -= 1
                if left[0] == 0 and replies:
                    self.write(replies)
        for m in msgs:
            self.one(m, done)

    def one(self, msg, reply):
        """Serve one message; reply is called once, with None when there is no answer."""
        try:
            kind = check_message(msg)
        except RpcError as e:
            reply(error_response(safe_id(msg), e, self.version()))
            return
        if kind == "response":
            if self.session:
                self.session.deliver(msg)
            reply(None)
            return
        if kind == "note":
            if msg["method"] == "notifications/cancelled":
                with self.lock:
                    call = self.live.get(id_key(msg.get("params", {}).get("requestId")))
                if call:
                    call.cancel.set()
            reply(None)
            return
        try:
            if msg["method"] == "initialize" and not is_modern(msg):
                if self.session:
                    raise RpcError(-32600, "the session is open already")
                session, res = initialize(msg)
                session.unsolicited = self.write
                self.session = session
                with STATE:
                    SESSIONS.add(session)
                reply(response(msg["id"], res))
                return
            call = Call(msg, self.session)
        except RpcError as e:
            reply(error_response(msg["id"], e, self.version()))
            return
        call.emit = self.write
        with self.lock:
            self.live[id_key(msg["id"])] = call
        if defect("ping-waits-for-tool") and msg["method"] != "subscriptions/listen":
            self.work(call, reply)
            return
        t = threading.Thread(target=self.work, args=(call, reply), daemon=True)
        self.threads = [x for x in self.threads if x.is_alive()] + [t]
        t.start()

    def work(self, call, reply):
        key = id_key(call.msg["id"])
        try:
            out = response(call.msg["id"], serve(call))
        except RpcError as e:
            out = error_response(call.msg["id"], e, call.version)
        except Cancelled:
            out = cancelled_reply(call)
        with self.lock:
            self.live.pop(key, None)
        reply(out)


# ---------------------------------------------------------------- streamable HTTP

class Stream:
    """The messages of one POST or GET; keeps them, so that a stream can be resumed."""
    counter = 0

    def __init__(self, session=None):
        with STATE:
            Stream.counter += 1
            self.number = Stream.counter
        self.session = session
        self.events = []
        self.done = False
        self.attached = True
        self.cond = threading.Condition()

    def put(self, msg, last=False):
        with self.cond:
            if not self.done:
                if msg is not None:
                    self.events.append(msg)
                self.done = self.done or last
                self.cond.notify_all()

    def wait(self, n, timeout):
        """Wait for the event with index n; give it, or None."""
        with self.cond:
            if len(self.events) <= n and not self.done:
                self.cond.wait(timeout)
            return self.events[n] if len(self.events) > n else None

    def event_id(self, n):
        if defect("event-id-per-stream"):
            return str(n)
        return "%d-%d" % (self.number, n)


class HttpSession(Session):
    def __init__(self, base):
        super().__init__(base.version, base.caps)
        self.id = str(uuid.uuid4())
        self.gets = []
        self.streams = []
        self.backlog = []
        self.unsolicited = self.queue

    def queue(self, msg):
        with self.lock:
            open_gets = [g for g in self.gets if g.attached]
            if not open_gets:
                self.backlog = self.backlog[-99:] + [msg]
                return
            if defect("both-get-streams"):
                for g in open_gets:
                    g.put(msg)
            else:
                open_gets[-1].put(msg)

    def keep(self, stream):
        with self.lock:
            self.streams = self.streams[-49:] + [stream]


HTTP_SESSIONS = {}


def good_origin(origin):
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.hostname in ("localhost", "127.0.0.1", "::1")


def mismatch(text_):
    return RpcError(-32020, "Header mismatch: " + text_, status=400)


def plain(value):
    """Undo the base64 form of a header value."""
    if value.startswith("=?base64?") and value.endswith("?=") and len(value) >= 11:
        try:
            return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
        except ValueError:
            raise mismatch("bad base64 form")
    if any(c != "\t" and not " " <= c <= "~" for c in value):
        raise mismatch("invalid characters")
    return value


def check_headers(msg, headers):
    """Compare the headers of a stateless request with its body."""
    params = msg.get("params", {})
    meta = params.get("_meta", {})
    version = meta.get(META + "protocolVersion")
    if not isinstance(version, str) or not isinstance(meta.get(META + "clientCapabilities"), dict):
        raise invalid_params("_meta lacks a required member", 400)
    if headers.get("MCP-Protocol-Version") != version:
        raise mismatch("MCP-Protocol-Version is missing or differs from the body")
    if version != V2026:
        return
    if headers.get("Mcp-Method") != msg["method"]:
        raise mismatch("Mcp-Method is missing or differs from the body")
    field = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(msg["method"])
    if not field:
        return
    got = headers.get("Mcp-Name")
    if got is None or plain(got) != params.get(field):
        raise mismatch("Mcp-Name is missing or differs from the body")
    tool = BY_NAME.get(params.get("name")) if msg["method"] == "tools/call" else None
    args = params.get("arguments")
    if not tool or not isinstance(args, dict):
        return
    for prop, schema in tool["input"]["properties"].items():
        if "x-mcp-header" not in schema:
            continue
        name = "Mcp-Param-" + schema["x-mcp-header"]
        got, value = headers.get(name), args.get(prop)
        if value is None:
            if got is not None:
                raise mismatch(name + " has no counterpart in the body")
            if defect("absent-param-header-required"):
                raise mismatch(name + " is missing")
            continue
        if got is None:
            raise mismatch(name + " is missing")
        got = plain(got)
        if isinstance(value, bool):
            same = got == ("true" if value else "false")
        elif isinstance(value, (int, float)):
            try:
                same = float(got) == value
            except ValueError:
                same = False
        else:
            same = got == value
        if not same:
            raise mismatch(name + " differs from the body")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "observatory"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def send_json(self, status, msg, headers=()):
        body = dumps(msg)
        data = body.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        length = len(body) if defect("length-in-characters") else len(data)
        self.send_header("Content-Length", str(length))
        for k, v in headers:
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(data[:length])

    def empty(self, status, headers=()):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        for k, v in headers:
            self.send_header(k, v)
        self.end_headers()

    def refuse(self, status, text_, code=-32600, headers=(), msg_id=None):
        self.send_json(status, error_response(msg_id, RpcError(code, text_)), headers)

    def door(self):
        """Path and Origin; True when the request may go on."""
        if urlsplit(self.path).path not in ("/", "/mcp"):
            self.empty(404)
            return False
        origin = self.headers.get("Origin")
        if origin is not None and not good_origin(origin):
            self.refuse(403, "this origin is not allowed")
            return False
        return True

    def find_session(self, msg_id=None):
        """Give the session, or None after the refusal was sent."""
        sid = self.headers.get("Mcp-Session-Id")
        if not sid:
            self.refuse(400, "Mcp-Session-Id is missing", msg_id=msg_id)
            return None
        with STATE:
            session = HTTP_SESSIONS.get(sid)
        if not session:
            self.refuse(404, "there is no such session", msg_id=msg_id)
            return None
        version = self.headers.get("MCP-Protocol-Version")
        if version is not None and version not in SESSION_VERSIONS and not defect("version-header-ignored"):
            self.refuse(400, "unsupported MCP-Protocol-Version", msg_id=msg_id)
            return None
        return session

    # -- POST

    def read_body(self):
        """Give the body, sent with a length or in chunks, or None."""
        limit = 32 << 20
        try:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                parts, total = [], 0
                while True:
                    size = int(self.rfile.readline(100).split(b";")[0], 16)
                    total += size
                    if size < 0 or total > limit:
                        return None
                    parts.append(self.rfile.read(size))
                    if size == 0:
                        while self.rfile.readline(1000).strip():
                            pass
                        return b"".join(parts)
                    self.rfile.readline(3)
            length = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            return None
        return self.rfile.read(length) if 0 <= length <= limit else None

    def do_POST(self):
        body = self.read_body()
        if body is None:
            self.close_connection = True
            self.refuse(413, "the length of the body is unknown or too large")
            return
        if not self.door():
            return
        if self.headers.get("Content-Type", "").split(";")[0].strip().lower() != "application/json":
            self.refuse(415, "the body must be application/json")
            return
        try:
            msg = loads(body)
        except (ValueError, RecursionError):
            self.refuse(400, "the body is not JSON", -32700)
            return
        if isinstance(msg, list):
            self.post_batch(msg)
            return
        try:
            kind = check_message(msg)
        except RpcError as e:
            self.send_json(400, error_response(safe_id(msg), e))
            return
        head = self.headers.get("MCP-Protocol-Version")
        if kind != "response" and (is_modern(msg) or head == V2026
                                   or (head and head not in ALL_VERSIONS and not self.headers.get("Mcp-Session-Id"))):
            self.post_modern(msg, kind)
            return
        if kind == "request" and msg["method"] == "initialize" and not self.headers.get("Mcp-Session-Id"):
            try:
                base, res = initialize(msg)
            except RpcError as e:
                self.send_json(200, error_response(msg["id"], e))
                return
            session = HttpSession(base)
            with STATE:
                HTTP_SESSIONS[session.id] = session
                SESSIONS.add(session)
            self.send_json(200, response(msg["id"], res), [("Mcp-Session-Id", session.id)])
            return
        session = self.find_session(msg["id"] if kind == "request" else None)
        if not session:
            return
        if kind != "request":
            self.take_note(session, msg, kind)
            self.empty(202)
            return
        stream = Stream(session)
        threading.Thread(target=lambda: stream.put(self.run_legacy(session, msg, stream.put), True), daemon=True).start()
        self.drain(stream, session)

    def take_note(self, session, msg, kind):
        if kind == "response":
            session.deliver(msg)
        elif msg["method"] == "notifications/cancelled":
            with session.lock:
                call = session.live.get(id_key(msg.get("params", {}).get("requestId")))
            if call:
                call.cancel.set()

    def run_legacy(self, session, msg, emit):
        """Serve a request of the session era; give the answer, or None when it was cancelled."""
        try:
            if msg["method"] == "initialize":
                raise RpcError(-32600, "the session is open already")
            call = Call(msg, session)
        except RpcError as e:
            return error_response(msg["id"], e, session.version)
        call.emit = emit
        key = id_key(msg["id"])
        with session.lock:
            session.live[key] = call
        try:
            out = response(msg["id"], serve(call))
        except RpcError as e:
            out = error_response(msg["id"], e, session.version)
        except Cancelled:
            out = cancelled_reply(call)
        with session.lock:
            session.live.pop(key, None)
        return out

    def post_batch(self, msgs):
        if not self.headers.get("Mcp-Session-Id"):
            self.refuse(400, "batches are not supported here")
            return
        session = self.find_session()
        if not session:
            return
        if session.version != V2025A or not msgs:
            self.refuse(400, "batches are not supported in this revision" if msgs else "the batch is empty")
            return
        stream, todo, replies = Stream(session), [], []
        for m in msgs:
            try:
                kind = check_message(m)
            except RpcError as e:
                replies.append(error_response(safe_id(m), e, session.version))
                continue
            if kind == "request":
                todo.append(m)
            else:
                self.take_note(session, m, kind)
        if not todo and not replies:
            self.empty(202)
            return

        def work():
            threads = [threading.Thread(target=lambda m=m: replies.append(self.run_legacy(session, m, stream.put))) for m in todo]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            stream.put([r for r in replies if r is not None] or None, True)
        threading.Thread(target=work, daemon=True).start()
        self.drain(stream, session)

    def post_modern(self, msg, kind):
        if kind == "note":
            self.empty(202)
            return
        try:
            check_headers(msg, self.headers)
            call = Call(msg, None)
        except RpcError as e:
            self.send_json(e.status, error_response(msg["id"], e))
            return
        stream = Stream()
        status = [200]
        call.emit = stream.put

        def work():
            try:
                out = response(msg["id"], serve(call))
            except RpcError as e:
                out = error_response(msg["id"], e)
                status[0] = e.status
                if defect("unknown-method-200") and e.code == -32601:
                    status[0] = 200
            except Cancelled:
                out = None
            stream.put(out, True)
        threading.Thread(target=work, daemon=True).start()
        self.drain(stream, None, status, call)

    # -- event streams

    def gone(self):
        """Tell whether the client has closed the connection."""
        try:
            if select.select([self.connection], [], [], 0)[0]:
                return self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True
        return False

    def start_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Accel-Buffering", "no")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def write_event(self, data, event_id=None):
        head = "id: %s\n" % event_id if event_id else ""
        self.wfile.write((head + "data: " + data + "\n\n").encode("utf-8"))
        self.wfile.flush()

    def drain(self, stream, session, status=(200,), call=None):
        """Write the messages of a POST: one JSON object if there is only the answer, else events."""
        first = None
        while first is None and not stream.done:
            first = stream.wait(0, 0.1)
            if first is None and self.gone():
                if call:  # closing the stream cancels the call in this era
                    call.cancel.set()
                self.close_connection = True
                return
        first = stream.wait(0, 0)
        if stream.done and len(stream.events) == 1 and "method" not in first:
            self.send_json(status[0], first)
            return
        if session:
            session.keep(stream)
        self.start_events()
        if session and session.version >= V2025C:
            self.write_event("", stream.event_id(0))
        self.follow(stream, 0, session, call)

    def follow(self, stream, n, session, call=None):
        """Write events from index n on, until the stream or the connection ends."""
        quiet = time.monotonic()
        try:
            while True:
                msg = stream.wait(n, 0.1)
                if msg is not None:
                    n += 1
                    self.write_event(dumps(msg), stream.event_id(n) if session else None)
                    quiet = time.monotonic()
                    continue
                if stream.done and len(stream.events) <= n:
                    return
                if self.gone():
                    raise OSError("closed by the client")
                if time.monotonic() - quiet > 15:
                    self.wfile.write(b":\n\n")
                    self.wfile.flush()
                    quiet = time.monotonic()
        except OSError:
            if call:
                call.cancel.set()
            self.close_connection = True

    # -- GET and DELETE

    def do_GET(self):
        if not self.door():
            return
        if self.headers.get("MCP-Protocol-Version") == V2026:
            self.refuse(405, "this revision has POST only", headers=[("Allow", "POST")])
            return
        session = self.find_session()
        if not session:
            return
        accept = self.headers.get("Accept", "")
        if "text/event-stream" not in accept and "*/*" not in accept:
            self.refuse(406, "the client must accept text/event-stream")
            return
        last = self.headers.get("Last-Event-ID")
        if last is not None:
            self.resume(session, last)
            return
        stream = Stream(session)
        session.keep(stream)
        with session.lock:
            backlog, session.backlog = session.backlog, []
            session.gets.append(stream)
        for msg in backlog:
            stream.put(msg)
        self.listen_on(session, stream, 0, True)

    def listen_on(self, session, stream, n, prime):
        stream.attached = True
        try:
            self.start_events()
            if prime and session.version >= V2025C:
                self.write_event("", stream.event_id(0))
            else:
                self.wfile.write(b": open\n\n")
                self.wfile.flush()
            self.follow(stream, n, session)
        except OSError:
            pass
        finally:
            stream.attached = False

    def resume(self, session, last):
        with session.lock:
            streams = list(session.streams)
        stream, n = None, 0
        for s in streams:
            for i in range(len(s.events) + 1):
                if s.event_id(i) == last:
                    stream, n = s, i
        if not stream:
            self.refuse(400, "unknown Last-Event-ID")
            return
        if defect("replay-other-streams"):
            # The history of the whole session, from the lost event on.
            self.start_events()
            for s in streams[streams.index(stream):]:
                for i in range(n if s is stream else 0, len(s.events)):
                    self.write_event(dumps(s.events[i]), s.event_id(i + 1))
            return
        self.listen_on(session, stream, n, False)

    def do_DELETE(self):
        if not self.door():
            return
        if self.headers.get("MCP-Protocol-Version") == V2026:
            self.refuse(405, "this revision has POST only", headers=[("Allow", "POST")])
            return
        session = self.find_session()
        if not session:
            return
        with STATE:
            HTTP_SESSIONS.pop(session.id, None)
            SESSIONS.discard(session)
        for g in session.gets:
            g.put(None, True)
        self.empty(204)

    def other(self):
        self.close_connection = True
        self.refuse(405, "method not allowed", headers=[("Allow", "GET, POST, DELETE")])

    do_PUT = do_PATCH = do_OPTIONS = do_HEAD = other


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--http":
        Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
    else:
        Stdio().run()


if __name__ == "__main__":
    main()
