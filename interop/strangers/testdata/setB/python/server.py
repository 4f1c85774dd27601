"""The MCP server of a ticket desk, with the standard library only.

Speaks stdio, or streamable HTTP with --http PORT (at /mcp), in the revisions
2025-03-26 (with batches), 2025-06-18 and 2025-11-25. DEFECT=name switches on
one mistake.
"""
import base64
import itertools
import json
import mimetypes
import os
import queue
import re
import sys
import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"]
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
QUEUES = ["billing", "hardware", "legal", "network"]
PAGE = 4


def defect(name):
    return os.environ.get("DEFECT") == name


class RpcError(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Sorry(Exception):
    """A tool that could not do what was asked."""


class Cancelled(Exception):
    pass


# The desk. -----------------------------------------------------------------

TICKETS = {}
FILES = {  # attachments: (name, bytes)
    "f1": ("invoice.txt", "Invoice 4711: 12,50 €\n".encode() * 8),
    "f2": ("photo.png", bytes(range(256))),
    "f3": ("core.dmp7", b"\x00\x01\x02"),
}
LOCK = threading.RLock()


def add_ticket(title, where, priority=3):
    with LOCK:
        t = {"id": "T%d" % (len(TICKETS) + 1), "title": title, "queue": where, "priority": priority, "state": "open"}
        TICKETS[t["id"]] = t
        return t


for _title, _queue, _priority in [
    ("Printer on fire", "hardware", 1), ("Rechnung über 12 € doppelt", "billing", 3), ("Wi-Fi drops at noon", "network", 2),
    ("請求書が届かない", "billing", 4), ("Keyboard missing ß", "hardware", 5), ("VPN slow", "network", 3),
]:
    add_ticket(_title, _queue, _priority)


def ticket(tid):
    if tid not in TICKETS:
        raise Sorry("There is no ticket %s." % tid)
    return TICKETS[tid]


def obj(required=(), **props):
    return {"type": "object", "properties": props, "required": list(required), "additionalProperties": False}


STR = {"type": "string"}
PRIORITY = {"type": "integer", "minimum": 1, "maximum": 5}
QUEUE = {"type": "string", "enum": QUEUES}
TICKET = {"type": "object", "required": ["id", "title", "queue", "priority", "state"], "properties": {
    "id": STR, "title": STR, "queue": QUEUE, "priority": PRIORITY, "state": {"type": "string", "enum": ["open", "closed"]}}}


def structured(value):
    return {"content": [text(json.dumps(value, ensure_ascii=False, allow_nan=True))], "structuredContent": value}


def text(t):
    return {"type": "text", "text": t}


def open_ticket(call, title, queue, priority=3):
    t = add_ticket(title, queue, priority)
    call.peer.hub.publish("list", None)
    return structured(t)


def get_ticket(call, id):
    return structured(ticket(id))


def search_tickets(call, words="", queue=None):
    found = [t for t in TICKETS.values() if words.lower() in t["title"].lower() and queue in (None, t["queue"])]
    return structured({"tickets": found, "count": len(found)})


def set_priority(call, id, priority):
    t = ticket(id)
    t["priority"] = priority
    call.peer.hub.publish("updated", "tickets://ticket/" + id)
    return structured(t)


def queue_stats(call, queue):
    those = [t["priority"] for t in TICKETS.values() if t["queue"] == queue]
    out = {"queue": queue, "tickets": len(those)}
    if those:
        out["meanPriority"] = sum(those) / len(those)
    elif defect("mean-of-none"):
        out["meanPriority"] = float("nan")
    return structured(out)


def count_open(call):
    n = sum(t["state"] == "open" for t in TICKETS.values())
    return {"content": [text(n if defect("number-text") else "%d tickets are open." % n)]}


def close_ticket(call, id, reason=""):
    t = ticket(id)
    if not reason:
        if "elicitation" not in call.peer.caps:
            raise Sorry("Call again with a reason.")
        answer = call.ask("elicitation/create", {"message": "Why is %s closed?" % id, "requestedSchema": {
            "type": "object", "properties": {"reason": {"type": "string", "minLength": 1}}, "required": ["reason"]}})
        if answer.get("action") != "accept":
            return {"content": [text("%s stays open." % id)]}
        reason = answer.get("content", {}).get("reason", "no reason")
    t["state"] = "closed"
    call.peer.hub.publish("updated", "tickets://ticket/" + id)
    return {"content": [text("%s is closed: %s" % (id, reason))]}


def import_mailbox(call, mails=4, pauseMs=40):
    for n in range(1, mails + 1):
        if call.cancelled.wait(pauseMs / 1000):
            raise Cancelled
        call.log("debug", {"mail": n})
        call.progress(n, mails, "mail %d of %d" % (n, mails))
    call.log("notice", "%d mails read" % mails)
    return {"content": [text("%d mails were read, no new tickets." % mails)]}


def export_tickets(call):
    if "roots" not in call.peer.caps:
        raise Sorry("The client has no roots to export to.")
    roots = call.ask("roots/list", None).get("roots", [])
    if not roots:
        raise Sorry("The client named no roots.")
    return {"content": [text("Would write tickets.csv to %s" % roots[0]["uri"]),
                        {"type": "resource_link", "uri": "tickets://all", "name": "all tickets", "mimeType": "text/csv"}]}


TOOLS = {f.__name__: (f, d) for f, d in [
    (open_ticket, {"description": "Opens a ticket.", "outputSchema": TICKET, "annotations": {"destructiveHint": False},
                   "inputSchema": obj(["title", "queue"], title={"type": "string", "minLength": 1}, queue=QUEUE, priority=PRIORITY)}),
    (get_ticket, {"title": "Look at a ticket", "description": "One ticket.", "outputSchema": TICKET, "annotations": {"readOnlyHint": True},
                  "inputSchema": obj(["id"], id=STR)}),
    (search_tickets, {"description": "Tickets by words of their title.", "annotations": {"readOnlyHint": True},
                      "inputSchema": obj(words=STR, queue=QUEUE), "outputSchema": {
                          "type": "object", "required": ["tickets", "count"],
                          "properties": {"tickets": {"type": "array", "items": TICKET}, "count": {"type": "integer"}}}}),
    (set_priority, {"description": "Gives a ticket another priority, 1 being the highest.", "outputSchema": TICKET,
                    "inputSchema": obj(["id", "priority"], id=STR, priority=PRIORITY), "annotations": {"idempotentHint": True}}),
    (queue_stats, {"description": "Figures of one queue.", "inputSchema": obj(["queue"], queue=QUEUE), "outputSchema": {
        "type": "object", "required": ["queue", "tickets"],
        "properties": {"queue": STR, "tickets": {"type": "integer"}, "meanPriority": {"type": "number"}}}}),
    (count_open, {"description": "How many tickets are open.", "inputSchema": obj()}),
    (close_ticket, {"description": "Closes a ticket; asks the user for a reason if none is given.", "inputSchema": obj(["id"], id=STR, reason=STR)}),
    (import_mailbox, {"description": "Reads the mailbox; takes a moment.", "inputSchema": obj(
        mails={"type": "integer", "minimum": 1, "maximum": 50}, pauseMs={"type": "integer", "minimum": 0, "maximum": 2000})}),
    (export_tickets, {"description": "Writes the tickets to the client's first root.", "inputSchema": obj()}),
]}


def check(schema, value, name="arguments"):
    """What is wrong with a value, or None."""
    kind = schema.get("type")
    if kind == "object":
        for n in schema["required"]:
            if n not in value:
                return "%s is missing" % n
        for n, v in value.items():
            if n not in schema["properties"]:
                return "there is no argument %s" % n
            wrong = check(schema["properties"][n], v, n)
            if wrong:
                return wrong
    elif kind == "string" and not isinstance(value, str):
        return "%s must be a string" % name
    elif kind == "integer":
        if not isinstance(value, int) or isinstance(value, bool) and not defect("true-is-one"):
            return "%s must be an integer" % name
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            return "%s must lie between %d and %d" % (name, schema["minimum"], schema["maximum"])
    if "enum" in schema and value not in schema["enum"]:
        return "%s must be one of %s" % (name, ", ".join(schema["enum"]))
    if kind == "string" and len(value) < schema.get("minLength", 0):
        return "%s is too short" % name
    return None


def resources():
    out = [{"uri": "tickets://all", "name": "all tickets", "mimeType": "text/csv",
            "annotations": {"audience": ["user"], "lastModified": "28.11.2026 08:00" if defect("local-date") else "2026-11-28T08:00:00Z"}}]
    for fid, (name, data) in FILES.items():
        r = {"uri": "tickets://file/" + fid, "name": name, "size": len(data)}
        kind = mimetypes.guess_type(name)[0]
        if kind or defect("null-mime"):
            r["mimeType"] = kind
        out.append(r)
    with LOCK:
        out += [{"uri": "tickets://ticket/" + t["id"], "name": t["id"], "title": t["title"], "mimeType": "application/json"} for t in TICKETS.values()]
    return out


def read(uri):
    place, _, key = str(uri).removeprefix("tickets://").partition("/")
    if uri == "tickets://all":
        rows = ["%(id)s;%(queue)s;%(priority)s;%(state)s" % t for t in TICKETS.values()]
        return {"uri": uri, "mimeType": "text/csv", "text": "\n".join(rows)}
    if place == "ticket" and key in TICKETS:
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps(TICKETS[key], ensure_ascii=False)}
    if place == "file" and key in FILES:
        name, data = FILES[key]
        encoded = base64.encodebytes(data) if defect("base64-lines") else base64.b64encode(data)
        return {"uri": uri, "mimeType": mimetypes.guess_type(name)[0] or "application/octet-stream", "blob": encoded.decode()}
    raise RpcError("RESOURCE_NOT_FOUND" if defect("code-in-words") else -32002, "Resource not found", {"uri": uri})


TEMPLATES = [{"uriTemplate": "tickets://ticket/{id}", "name": "ticket", "mimeType": "application/json"},
             {"uriTemplate": "tickets://file/{file}", "name": "attachment"}]
PROMPTS = [{"name": "answer_customer", "description": "Answers a ticket.", "arguments": [
    {"name": "id", "description": "the ticket", "required": True}, {"name": "tone", "description": "friendly if left out"}]},
    {"name": "stand_up", "description": "The morning meeting."}]


def get_prompt(name, args):
    if name == "stand_up":
        return {"messages": [{"role": "user", "content": text("Run the morning meeting of the ticket desk.")}]}
    if name != "answer_customer":
        raise RpcError(-32602, "Unknown prompt: %s" % name)
    if args.get("id") not in TICKETS:
        raise RpcError(-32602, "id must name a ticket")
    uri = "tickets://ticket/" + args["id"]
    return {"description": "Answers %s" % args["id"], "messages": [
        {"role": "user", "content": {"type": "resource", "resource": read(uri)}},
        {"role": "user", "content": text("Answer this ticket in a %s tone." % args.get("tone", "friendly"))}]}


def complete(ref, argument):
    prompt, uri, name = ref.get("name"), ref.get("uri"), argument.get("name")
    if ref.get("type") == "ref/prompt" and prompt == "answer_customer" and name == "tone":
        options = ["brief", "formal", "friendly"]
    elif name == "id" and (ref.get("type") == "ref/prompt" and prompt == "answer_customer" or uri == "tickets://ticket/{id}"):
        options = list(TICKETS)
    elif name == "file" and uri == "tickets://file/{file}":
        options = list(FILES)
    else:
        raise RpcError(-32602, "There is nothing to complete there")
    values = [o for o in options if o.startswith(argument.get("value", ""))]
    return {"completion": {"values": values[:100], "total": len(values), "hasMore": len(values) > 100}}


# The protocol. -------------------------------------------------------------

class Hub:
    def __init__(self):
        self.peers = []

    def publish(self, kind, uri):
        for p in list(self.peers):
            if p.ready and kind == "list":
                p.unasked("notifications/resources/list_changed", {})
            elif p.ready and uri in p.subscriptions:
                p.unasked("notifications/resources/updated", {"uri": uri})


class Peer:
    """One client: the process on the other end of stdio, or an HTTP session."""

    def __init__(self, hub, send):
        self.hub, self.send = hub, send  # send: for what belongs to no request
        self.version, self.caps, self.ready, self.level = None, {}, False, "info"
        self.subscriptions, self.running, self.waiting = set(), {}, {}
        self.ids = itertools.count(1)
        hub.peers.append(self)

    def unasked(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def take(self, message, send, run):
        """Handles one message. send is for its answer, run runs the slow ones."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return send(failure(None, RpcError(-32600, "Invalid request")))
        mid, method = message.get("id"), message.get("method")
        if method is None:
            if "result" in message or "error" in message:
                box = self.waiting.get(mid) if isinstance(mid, str) else None
                if box:
                    box.put(message)
                return None
            return send(failure(mid if isinstance(mid, (str, int)) else None, RpcError(-32600, "Invalid request")))
        if "id" not in message or defect("zero-id") and not mid:
            params = message.get("params")
            return self.note(method, params if isinstance(params, dict) else {})
        if not isinstance(mid, (str, int)) or isinstance(mid, bool):
            return send(failure(None, RpcError(-32600, "The id must be a string or an integer")))
        call = Call(self, mid, method, message.get("params", {}), send)
        return run(call.serve) if method == "tools/call" else call.serve()

    def note(self, method, params):
        if method == "notifications/initialized":
            self.ready = True
        elif method == "notifications/cancelled":
            rid = params.get("requestId")
            call = self.running.get(rid) if isinstance(rid, (str, int)) else None
            if call:
                call.cancelled.set()
                if call.box:
                    call.box.put(None)


def failure(mid, e):
    error = {"code": e.code, "message": e.message}
    if e.data is not None:
        error["data"] = e.data
    out = {"jsonrpc": "2.0", "error": error}
    if mid is not None:
        out["id"] = mid
    if defect("both-members"):
        out["result"] = None
    if defect("error-is-text") and e.code == -32601:
        out["error"] = e.message
    return out


class Call:
    def __init__(self, peer, mid, method, params, send):
        self.peer, self.id, self.method, self.params, self.send = peer, mid, method, params, send
        self.cancelled, self.box = threading.Event(), None

    def serve(self):
        self.peer.running[self.id] = self
        try:
            if not isinstance(self.params, dict):
                raise RpcError(-32602, "params must be an object")
            if self.peer.version is None and self.method not in ("initialize", "ping"):
                raise RpcError(-32600, "Initialize first")
            answer = {"jsonrpc": "2.0", "id": self.id, "result": self.result()}
        except Cancelled:
            self.send(None)
            return
        except RpcError as e:
            answer = failure(self.id, e)
        except (TypeError, AttributeError, KeyError) as e:
            answer = failure(self.id, RpcError(-32602, "Invalid params: %s" % e))
        except Exception as e:  # a mistake of ours
            print("failed: %r" % e, file=sys.stderr)
            answer = failure(self.id, RpcError(-32603, "Internal error"))
        finally:
            self.peer.running.pop(self.id, None)
        self.send(answer)

    def meta(self):
        return self.params.get("_meta") or {}

    def progress(self, done, total, what):
        if "progressToken" in self.meta():
            self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": self.meta()["progressToken"], "progress": done, "total": total, "message": what}})

    def log(self, level, data):
        if LEVELS.index(level) >= LEVELS.index(self.peer.level):
            self.send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": level, "logger": "desk", "data": data}})

    def ask(self, method, params):
        rid = "desk-%d" % next(self.peer.ids)
        self.box = self.peer.waiting[rid] = queue.Queue()
        request = {"jsonrpc": "2.0", "id": rid, "method": method}
        if params is not None:
            request["params"] = params
        self.send(request)
        try:
            answer = self.box.get(timeout=60)
        except queue.Empty:
            raise Sorry("The client did not answer.")
        finally:
            self.peer.waiting.pop(rid, None)
        if answer is None:
            raise Cancelled
        if "error" in answer:
            raise Sorry("The client refused: %s" % answer["error"].get("message"))
        return answer.get("result") or {}

    def page(self, field, items, size=50):
        start, cursor = 0, self.params.get("cursor")
        if cursor is not None:
            m = re.fullmatch(r"after:(\d+)", str(cursor))
            start = int(m.group(1)) if m else 0
            if not 0 < start < len(items):
                raise RpcError(-32602, "Invalid cursor")
        result = {field: items[start:start + size]}
        if start + size < len(items):
            result["nextCursor"] = "after:%d" % (start + size)
        return result

    def result(self):
        m, p, peer = self.method, self.params, self.peer
        if m == "initialize":
            wanted = p.get("protocolVersion")
            if not isinstance(wanted, str) or not isinstance(p.get("capabilities"), dict) or "clientInfo" not in p:
                raise RpcError(-32602, "protocolVersion, capabilities and clientInfo are needed")
            peer.version = wanted if wanted in VERSIONS or defect("echoes-version") else VERSIONS[0]
            peer.caps = p["capabilities"]
            if defect("roots-too-early") and "roots" in peer.caps:
                self.send({"jsonrpc": "2.0", "id": "roots-0", "method": "roots/list"})
            return {"protocolVersion": peer.version, "serverInfo": {"name": "ticket-desk", "version": "5.0.1"}, "capabilities": {
                "tools": {}, "prompts": {}, "completions": {}, "logging": {}, "resources": {"subscribe": True, "listChanged": True}}}
        if m == "ping":
            return "pong" if defect("pong") else {}
        if m == "tools/list":
            return self.page("tools", [dict(d, name=n) for n, (_, d) in TOOLS.items()])
        if m == "resources/list":
            return self.page("resources", resources(), PAGE)
        if m == "resources/templates/list":
            return self.page("resourceTemplates", TEMPLATES)
        if m == "prompts/list":
            return self.page("prompts", PROMPTS)
        if m == "resources/read":
            return {"contents": [read(p.get("uri"))]}
        if m in ("resources/subscribe", "resources/unsubscribe"):
            read(p.get("uri"))
            (peer.subscriptions.add if m == "resources/subscribe" else peer.subscriptions.discard)(p["uri"])
            return {}
        if m == "prompts/get":
            return get_prompt(p.get("name"), p.get("arguments") or {})
        if m == "completion/complete":
            return complete(p.get("ref") or {}, p.get("argument") or {})
        if m == "logging/setLevel":
            if p.get("level") not in LEVELS:
                raise RpcError(-32602, "Invalid log level")
            peer.level = p["level"]
            return {}
        if m == "tools/call":
            if p.get("name") not in TOOLS:
                raise RpcError(-32602, "Unknown tool: %s" % p.get("name"))
            run, definition = TOOLS[p["name"]]
            args = p.get("arguments") or {}
            if not isinstance(args, dict):
                raise RpcError(-32602, "arguments must be an object")
            try:
                wrong = check(definition["inputSchema"], args)
                if wrong:
                    raise Sorry(wrong)
                return run(self, **args)
            except Sorry as e:
                result = {"content": [text("Error: %s" % e)]}
                return result if defect("errors-look-fine") else dict(result, isError=True)
        raise RpcError(-32601, "Method not found: %s" % m)


def decode(raw):
    return json.loads(raw.decode("utf-8") if isinstance(raw, bytes) else raw, parse_constant=lambda c: 1 / 0)


# Transports. ---------------------------------------------------------------

def serve_stdio():
    lock = threading.Lock()
    working = []
    encoding = "cp1252" if defect("windows-stdout") else "utf-8"

    def send(message):
        if message is not None:
            line = json.dumps(message, ensure_ascii=False) + "\n"
            with lock:
                sys.stdout.buffer.write(line.encode(encoding, "replace"))
                sys.stdout.buffer.flush()

    def run(f):
        if defect("one-at-a-time"):
            return f()
        t = threading.Thread(target=f, daemon=True)
        working.append(t)
        return t.start()

    peer = Peer(Hub(), send)

    def handle(line):
        if not line.strip():
            return
        try:
            message = decode(line)
        except (ValueError, ArithmeticError, RecursionError):
            send(failure(None, RpcError(-32700, "Parse error")))
            return
        if isinstance(message, list) and message and peer.version == "2025-03-26":
            if defect("loose-batch"):
                for one in message:
                    peer.take(one, send, lambda f: f())
                return
            answers = []
            for one in message:
                peer.take(one, lambda m: m and (answers.append if "method" not in m else send)(m), lambda f: f())
            if answers:
                send(answers)
        else:
            peer.take(message, send, run)

    for raw in sys.stdin.buffer:
        if defect("splitlines"):
            for line in raw.decode("utf-8", "replace").splitlines():
                handle(line)
        else:
            handle(raw)
    for t in working:
        t.join(0.5)
    if defect("lingers"):
        threading.Thread(target=lambda: time.sleep(3600), name="archiver").start()


class Session(Peer):
    def __init__(self, hub, sid):
        super().__init__(hub, self.queue_up)
        self.sid, self.streams, self.backlog, self.events = sid, [], [], itertools.count(1)

    def queue_up(self, message):
        with LOCK:
            if not self.streams:
                self.backlog.append(message)
            for s in self.streams if defect("fan-out") else self.streams[:1]:
                s.put(message)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub, sessions = Hub(), {}

    def log_message(self, *a):
        pass

    def plain(self, status, message=None, **headers):
        body = "" if message is None else json.dumps(message, ensure_ascii=False)
        data = body.encode()
        self.send_response(status)
        if message is not None:
            self.send_header("Content-Type", "text/plain" if defect("plain-json") else "application/json")
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.send_header("Content-Length", str(len(body) if defect("length-in-characters") else len(data)))
        self.end_headers()
        self.wfile.write(data[:len(body)] if defect("length-in-characters") else data)

    def refuse(self, status, text_, code=-32600):
        self.plain(status, failure(None, RpcError(code, text_)))

    def admitted(self):
        origin = self.headers.get("Origin")
        if urllib.parse.urlparse(self.path).path != "/mcp":
            return self.refuse(404, "Not found")
        if origin and urllib.parse.urlparse(origin).hostname not in ("localhost", "127.0.0.1"):
            return self.refuse(403, "Origin not allowed")
        return True

    def session(self):
        version = self.headers.get("MCP-Protocol-Version")
        if version and version not in VERSIONS:
            return self.refuse(400, "Unsupported MCP-Protocol-Version")
        sid = self.headers.get("Mcp-Session-Id")
        if not sid:
            return self.refuse(400, "An Mcp-Session-Id is needed")
        return self.sessions.get(sid) or self.refuse(404, "No such session")

    def open_stream(self, sid=None):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        if sid:
            self.send_header("Mcp-Session-Id", sid)
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        self.count = itertools.count(1)

    def event(self, s, message):
        data = json.dumps(message, ensure_ascii=False, indent=2 if defect("pretty-events") else None)
        n = next(self.count) if defect("event-ids-restart") else next(s.events)
        self.wfile.write(("id: %d\ndata: %s\n\n" % (n, data)).encode())
        self.wfile.flush()

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.admitted():
            return
        accept = self.headers.get("Accept", "")
        if "*/*" not in accept and not ("application/json" in accept and "text/event-stream" in accept):
            return self.refuse(406, "Accept application/json and text/event-stream")
        if not self.headers.get("Content-Type", "").startswith("application/json"):
            return self.refuse(415, "application/json is expected")
        try:
            message = decode(raw)
        except (ValueError, ArithmeticError, RecursionError):
            return self.refuse(400, "Parse error", -32700)
        first = isinstance(message, dict) and message.get("method") == "initialize" and "id" in message
        if first:
            name = str(((message.get("params") or {}).get("clientInfo") or {}).get("name"))
            sid = str(uuid.uuid5(uuid.NAMESPACE_DNS, name) if defect("session-by-name") else uuid.uuid4())
            s = Session(self.hub, sid)
        else:
            s = self.session()
            if not s:
                return
        batch = isinstance(message, list)
        if batch and (not message or s.version != "2025-03-26"):
            return self.refuse(400, "One message is expected")
        parts = message if batch else [message]
        if not all(isinstance(m, dict) and m.get("jsonrpc") == "2.0" and ("method" in m or "result" in m or "error" in m) for m in parts):
            return self.refuse(400, "Invalid request")
        expected = sum("method" in m and "id" in m for m in parts)
        out = queue.Queue()
        for m in parts:
            s.take(m, out.put, lambda f: threading.Thread(target=f, daemon=True).start())
        if not expected:
            return self.plain(200, {}) if defect("note-200") else self.plain(202)
        answers, streaming = [], False
        while expected:
            m = out.get(timeout=120)
            if m is None or "method" not in m:
                expected -= 1
                if m is not None and not streaming:
                    answers.append(m)
                    continue
            if not streaming:
                if first:
                    self.sessions[s.sid] = s
                self.open_stream(s.sid if first else None)
                streaming = True
                for a in answers:
                    self.event(s, a)
            if m is not None:
                self.event(s, m)
        if not streaming:
            more = {}
            if first and "result" in answers[0]:
                self.sessions[s.sid] = s
                more["Mcp_Session_Id"] = s.sid
            self.plain(200, answers if batch else answers[0], **more)

    def do_GET(self):
        if not self.admitted():
            return
        if defect("status-page"):
            return self.plain(200, {"status": "ok", "tickets": len(TICKETS)})
        s = self.session()
        if not s:
            return
        if "text/event-stream" not in self.headers.get("Accept", ""):
            return self.refuse(406, "Accept text/event-stream")
        mine = queue.Queue()
        with LOCK:
            for m in s.backlog:
                mine.put(m)
            s.backlog.clear()
            s.streams.append(mine)
        self.open_stream()
        try:
            while self.sessions.get(s.sid) is s:
                try:
                    self.event(s, mine.get(timeout=1))
                except queue.Empty:
                    self.wfile.write(b": still here\n\n")
                    self.wfile.flush()
        except OSError:
            pass
        finally:
            with LOCK:
                s.streams.remove(mine)

    def do_DELETE(self):
        s = self.admitted() and self.session()
        if s:
            if defect("delete-ends-all"):
                self.sessions.clear()
            self.sessions.pop(s.sid, None)
            self.hub.peers.remove(s)
            self.plain(200)


class DeskServer(ThreadingHTTPServer):
    daemon_threads = True


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--http":
        DeskServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
    serve_stdio()
