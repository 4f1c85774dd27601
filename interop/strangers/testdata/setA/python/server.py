"""Lending desk of a small public library as an MCP server, standard library only.

Runs on stdio, or over streamable HTTP with `--http PORT`.
DEFECT=name in the environment switches one mistake on.
"""
import base64
import json
import os
import struct
import sys
import threading
import time
import uuid
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

DEFECT = os.environ.get("DEFECT", "")
VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
GENRES = ["adventure", "biography", "crime", "drama", "essay", "fantasy", "history", "poetry"]
PAGE = 10


def on(name):
    return DEFECT == name


# ---------------------------------------------------------------- the library

BOOKS = [
    {"isbn": "9780140449099", "title": "The Voyage Out and Back", "author": "Ada Marsh", "genre": "adventure",
     "year": 1987, "subtitle": "A sailor's year"},
    {"isbn": "9780140449105", "title": "Über den Wolken", "author": "Jörg Weiß", "genre": "poetry",
     "year": 2003, "subtitle": "Gedichte"},
    {"isbn": "9780140449112", "title": "The Ingenious Gentleman", "author": "M. de Cervantes", "genre": "fantasy",
     "year": 1605, "printed": "c. 1605", "subtitle": None},
]
for n in range(22):
    BOOKS.append({"isbn": str(9780306406000 + n), "title": f"Town Chronicle, volume {n + 1}", "author": "R. Keeper",
                  "genre": GENRES[n % len(GENRES)], "year": 1950 + n, "subtitle": f"Years {1900 + n} to {1901 + n}"})
BY_ISBN = {b["isbn"]: b for b in BOOKS}
LOANS = {}
desk = threading.Lock()


def png(color):
    """A picture of 24 by 24 points in one colour."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + bytes((color * (i + 3) * j) % 256 for j in range(72)) for i in range(24))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 24, 24, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Failure(Exception):
    """A JSON-RPC error."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Refusal(Exception):
    """A tool that cannot do what was asked."""


# ---------------------------------------------------------------- tools

def text(value):
    return {"type": "text", "text": value}


def search_books(session, args, call):
    query = args["query"].lower()
    found = [b for b in BOOKS if query in b["title"].lower() or query in b["author"].lower()]
    found = found[: args.get("limit", 20)]
    session.log("debug", "search", f"{len(found)} books for {query!r}")
    return {"content": [text("\n".join(f'{b["isbn"]} {b["title"]}' for b in found) or "nothing found")]}


def book_details(session, args, call):
    book = BY_ISBN.get(args["isbn"])
    if not book:
        raise Refusal("no book with this ISBN")
    out = {"isbn": book["isbn"], "title": book["title"], "author": book["author"], "year": book["year"],
           "lent": book["isbn"] in LOANS}
    if on("details-year-text"):
        out["year"] = book.get("printed", book["year"])
    return {"content": [text(json.dumps(out))], "structuredContent": out}


def lend_book(session, args, call):
    isbn = args["isbn"]
    with desk:
        if isbn not in BY_ISBN:
            raise Refusal("no book with this ISBN")
        if isbn in LOANS:
            if on("refusal-as-protocol-error"):
                raise Failure(-32603, "book is already lent")
            raise Refusal(f"already lent to {LOANS[isbn]}")
        LOANS[isbn] = args["member"]
    session.updated(f"library://books/{isbn}")
    return {"content": [text(f'{BY_ISBN[isbn]["title"]} lent to {args["member"]}')]}


def return_book(session, args, call):
    isbn = args["isbn"]
    with desk:
        if isbn not in LOANS:
            raise Refusal("this book is not lent")
        del LOANS[isbn]
    session.updated(f"library://books/{isbn}")
    session.log("info", "desk", f"{isbn} came back")
    return {"content": [text("thank you")]}


def reindex_catalog(session, args, call):
    shelves = args.get("shelves", 4)
    for done in range(1, shelves + 1):
        for _ in range(5):
            time.sleep(0.02)
            if call.cancelled:
                return None
        if done < shelves or not on("progress-after-result"):
            call.progress(done, shelves, f"shelf {done}")
    if on("progress-after-result"):
        threading.Timer(0.2, call.progress, (shelves, shelves, "finished")).start()
    return {"content": [text(f"{shelves} shelves indexed")]}


def loan_report(session, args, call):
    rows = [{"isbn": i, "member": m} for i, m in sorted(LOANS.items())]
    out = {"count": len(rows), "loans": rows}
    return {"content": [text(json.dumps(out, indent=2))], "structuredContent": out}


def cover_picture(session, args, call):
    if args["isbn"] not in BY_ISBN:
        raise Refusal("no book with this ISBN")
    data = base64.b64encode(png(int(args["isbn"][-2:]) + 1)).decode()
    return {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}


ISBN = {"type": "string", "description": "ISBN of the book, 13 digits"}


def schema(required=(), **props):
    return {"type": "object", "properties": props, "required": list(required), "additionalProperties": False}


TOOLS = {
    "search_books": (search_books, "Find books by a word of the title or the author's name",
                     schema(["query"], query={"type": "string"}, limit={"type": "integer", "minimum": 1}), None),
    "book_details": (book_details, "Everything known of one book", schema(["isbn"], isbn=ISBN),
                     schema(["isbn", "title", "author", "year", "lent"], isbn=ISBN, title={"type": "string"},
                            author={"type": "string"}, year={"type": "integer"}, lent={"type": "boolean"})),
    "lend_book": (lend_book, "Lend a book to a member",
                  schema(["isbn", "member"], isbn=ISBN, member={"type": "string", "minLength": 1}), None),
    "return_book": (return_book, "Take a lent book back", schema(["isbn"], isbn=ISBN), None),
    "reindex_catalog": (reindex_catalog, "Walk along the shelves and index them anew; takes a while",
                        schema(shelves={"type": "integer", "minimum": 1, "maximum": 50}), None),
    "loan_report": (loan_report, "All loans of now", schema(),
                    schema(["count", "loans"], count={"type": "integer"},
                           loans={"type": "array", "items": {"type": "object", "required": ["isbn", "member"]}})),
    "cover_picture": (cover_picture, "The cover of a book as a picture", schema(["isbn"], isbn=ISBN), None),
}


def misfit(value, rule, where):
    """The first thing wrong with value, by the few keywords that the tools use."""
    kinds = {"object": dict, "string": str, "integer": int}
    if not isinstance(value, kinds[rule["type"]]) or isinstance(value, bool):
        return f"{where} must be of type {rule['type']}"
    if rule["type"] == "object":
        for name in rule["required"]:
            if name not in value:
                return f"{where}.{name} is missing"
        for name, part in value.items():
            if name not in rule["properties"]:
                return f"{where}.{name} is not known"
            wrong = misfit(part, rule["properties"][name], f"{where}.{name}")
            if wrong:
                return wrong
    if rule["type"] == "integer" and not rule.get("minimum", value) <= value <= rule.get("maximum", value):
        return f"{where} is out of range"
    if rule["type"] == "string" and len(value) < rule.get("minLength", 0):
        return f"{where} is too short"
    return None


# ---------------------------------------------------------------- resources and prompts

def list_resources():
    out = [{"uri": "library://catalog", "name": "catalog", "mimeType": "application/json",
            "description": "ISBN and title of every book"}]
    for b in BOOKS:
        entry = {"uri": f"library://books/{b['isbn']}", "name": b["title"], "mimeType": "text/plain"}
        if b["subtitle"] or on("null-description"):
            entry["description"] = b["subtitle"]
        out.append(entry)
    return out


def read_resource(uri):
    if uri == "library://catalog":
        body = json.dumps([[b["isbn"], b["title"]] for b in BOOKS], ensure_ascii=False)
        return {"uri": uri, "mimeType": "application/json", "text": body}
    for prefix in ("library://books/", "library://covers/"):
        if not uri.startswith(prefix):
            continue
        book = BY_ISBN.get(uri[len(prefix):])
        if not book:
            break
        if prefix.endswith("covers/"):
            image = png(int(book["isbn"][-2:]) + 1)
            blob = base64.encodebytes(image) if on("blob-line-breaks") else base64.b64encode(image)
            return {"uri": uri, "mimeType": "image/png", "blob": blob.decode()}
        state = f"lent to {LOANS[book['isbn']]}" if book["isbn"] in LOANS else "on the shelf"
        return {"uri": "library://books" if on("read-uri-of-collection") else uri, "mimeType": "text/plain",
                "text": f"{book['title']}\n{book['author']}, {book['year']}\n{state}"}
    raise Failure(-32002, "Resource not found", {"uri": uri})


TEMPLATES = [
    {"uriTemplate": "library://books/{isbn}", "name": "book", "mimeType": "text/plain",
     "description": "Title, author and whereabouts of a book"},
    {"uriTemplate": "library://covers/{isbn}", "name": "cover", "mimeType": "image/png",
     "description": "Cover of a book"},
]
PROMPTS = [
    {"name": "recommend", "description": "Ask for a recommendation", "arguments": [
        {"name": "genre", "description": "Genre to stay in", "required": True},
        {"name": "mood", "description": "How the reader feels"}]},
    {"name": "overdue_letter", "description": "A friendly letter to a late reader", "arguments": [
        {"name": "member", "description": "Name of the reader", "required": True}]},
]


def get_prompt(name, args):
    prompt = next((p for p in PROMPTS if p["name"] == name), None)
    if not prompt:
        raise Failure(-32602, f"unknown prompt {name}")
    if not on("prompt-argument-unchecked"):
        for a in prompt["arguments"]:
            if a.get("required") and a["name"] not in args:
                raise Failure(-32602, f"argument {a['name']} is missing")
    if name == "recommend":
        words = f"Recommend a book of the genre {args.get('genre')}"
        words += f" for a reader who feels {args['mood']}." if args.get("mood") else "."
    else:
        words = f"Write a friendly letter to {args.get('member')}, whose loan is overdue."
    return {"description": prompt["description"], "messages": [{"role": "user", "content": text(words)}]}


def complete(ref, argument):
    if ref.get("type") == "ref/prompt":
        if ref.get("name") not in [p["name"] for p in PROMPTS]:
            raise Failure(-32602, "unknown prompt")
        pool = GENRES if argument["name"] == "genre" else []
    elif ref.get("type") == "ref/resource":
        if ref.get("uri") not in [t["uriTemplate"] for t in TEMPLATES]:
            raise Failure(-32602, "unknown resource template")
        pool = list(BY_ISBN) if argument["name"] == "isbn" else []
    else:
        raise Failure(-32602, "unknown kind of reference")
    hits = [v for v in pool if v.startswith(argument["value"])]
    if on("completion-bare-list"):
        return {"completion": hits[:100]}
    return {"completion": {"values": hits[:100], "total": len(hits), "hasMore": len(hits) > 100}}


def page(items, key, cursor):
    start = 0
    if cursor is not None and not on("cursor-ignored"):
        try:
            start = int(base64.b64decode(cursor, validate=True).decode().removeprefix("from:"))
        except ValueError:
            raise Failure(-32602, "invalid cursor")
        if not 0 < start < len(items):
            raise Failure(-32602, "invalid cursor")
    out = {key: items[start:start + PAGE]}
    if start + PAGE < len(items):
        out["nextCursor"] = base64.b64encode(f"from:{start + PAGE}".encode()).decode()
    return out


# ---------------------------------------------------------------- one session

class Call:
    def __init__(self, session, message, send):
        self.session, self.send, self.cancelled = session, send, False
        self.id = message["id"]
        meta = (message.get("params") or {}).get("_meta") or {}
        self.token = meta.get("progressToken")

    def progress(self, done, total, words):
        if self.token is not None:
            self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": self.token, "progress": done, "total": total, "message": words}})


class Session:
    """What one client agreed on; send brings messages to it outside of a call."""

    def __init__(self, send):
        self.send, self.level, self.watched, self.calls = send, "warning", set(), {}
        self.version = VERSIONS[0]

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def log(self, level, logger, data):
        if LEVELS.index(level) >= LEVELS.index(self.level):
            self.notify("notifications/message", {"level": level, "logger": logger, "data": data})

    def updated(self, uri):
        for session in list(SESSIONS.values()):
            if uri in session.watched:
                session.notify("notifications/resources/updated", {"uri": uri})

    def handle(self, message, send):
        """Answer one message through send; a notification gets no answer."""
        method = message.get("method")
        if method is None:
            return  # an answer of the client; this server never asks
        if "id" not in message:
            if method == "notifications/cancelled":
                wanted = message.get("params", {}).get("requestId")
                call = self.calls[wanted] if on("late-cancel-crash") else self.calls.get(wanted)
                if call:
                    call.cancelled = True
            elif on("notification-answered") and method != "notifications/initialized":
                send({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": f"unknown {method}"}})
            return
        call = Call(self, message, send)
        self.calls[call.id] = call
        reply = {"jsonrpc": "2.0", "id": str(call.id) if on("id-as-string") else call.id}
        try:
            result = self.dispatch(method, message.get("params") or {}, call)
            if call.cancelled:
                return
            reply["result"] = result
        except Failure as e:
            reply["error"] = {"code": e.code, "message": e.message}
            if e.data is not None:
                reply["error"]["data"] = e.data
        except (KeyError, TypeError, AttributeError) as e:
            reply["error"] = {"code": -32602, "message": f"invalid params: {e!r}"}
        finally:
            self.calls.pop(call.id, None)
        send(reply)

    def dispatch(self, method, params, call):
        if method == "initialize":
            wanted = params["protocolVersion"]
            self.version = wanted if wanted in VERSIONS else VERSIONS[0]
            return {"protocolVersion": self.version, "capabilities": {
                "tools": {}, "prompts": {}, "resources": {"subscribe": True}, "completions": {}, "logging": {}},
                "serverInfo": {"name": "lending-desk", "title": "Lending desk", "version": "1.4.0"},
                "instructions": "Find books with search_books before you lend them."}
        if method == "ping":
            return {}
        if method == "tools/list":
            tools = []
            for name, (_, words, given, returned) in TOOLS.items():
                tools.append({"name": name, "description": words, "inputSchema": given})
                if returned:
                    tools[-1]["outputSchema"] = returned
            return page(tools, "tools", params.get("cursor"))
        if method == "tools/call":
            if params.get("name") not in TOOLS:
                raise Failure(-32602, f"Unknown tool: {params.get('name')}")
            work, _, given, _ = TOOLS[params["name"]]
            args = params.get("arguments", {})
            wrong = misfit(args, given, "arguments")
            if wrong:
                return {"content": [text(wrong)], "isError": True}
            try:
                return work(self, args, call)
            except Refusal as e:
                return {"content": [text(str(e))], "isError": True}
        if method == "resources/list":
            return page(list_resources(), "resources", params.get("cursor"))
        if method == "resources/templates/list":
            return page(TEMPLATES, "resourceTemplates", params.get("cursor"))
        if method == "resources/read":
            return {"contents": [read_resource(params["uri"])]}
        if method in ("resources/subscribe", "resources/unsubscribe"):
            read_resource(params["uri"])
            (self.watched.add if method.endswith("/subscribe") else self.watched.discard)(params["uri"])
            return {}
        if method == "prompts/list":
            return page(PROMPTS, "prompts", params.get("cursor"))
        if method == "prompts/get":
            return get_prompt(params["name"], params.get("arguments") or {})
        if method == "completion/complete" and not on("completions-unserved"):
            return complete(params["ref"], params["argument"])
        if method == "logging/setLevel":
            if params["level"] not in LEVELS:
                raise Failure(-32602, "invalid level")
            self.level = params["level"]
            return {}
        if on("unknown-method-internal"):
            raise Failure(-32603, f"cannot {method}")
        raise Failure(-32601, f"Method not found: {method}")


SESSIONS = {}


def parse(raw):
    """The message of some bytes, or the JSON-RPC error that they earn."""
    try:
        message = json.loads(raw)
    except ValueError:
        return None, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    named = isinstance(message, dict) and (isinstance(message.get("method"), str) or "result" in message
                                           or "error" in message)
    if not named or message.get("jsonrpc") != "2.0" or (
            "id" in message and (isinstance(message["id"], bool) or not isinstance(message["id"], (int, str)))):
        return None, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid Request"}}
    return message, None


# ---------------------------------------------------------------- stdio

def serve_stdio():
    writing = threading.Lock()

    def send(message):
        pretty = on("indented-report") and "loans" in str(message.get("result", {}).get("structuredContent"))
        line = json.dumps(message, ensure_ascii=False, indent=2 if pretty else None)
        with writing:
            sys.stdout.buffer.write(line.encode() + b"\n")
            sys.stdout.buffer.flush()

    session = SESSIONS["stdio"] = Session(send)
    running = []
    for raw in sys.stdin.buffer:
        if not raw.strip():
            continue
        message, wrong = parse(raw)
        if wrong:
            wrong.pop("id")
            send(wrong)
        elif message.get("method") == "tools/call":
            worker = threading.Thread(target=session.handle, args=(message, send), daemon=True)
            worker.start()
            running = [w for w in running if w.is_alive()] + [worker]
        else:
            session.handle(message, send)
    for worker in running:
        worker.join(5)


# ---------------------------------------------------------------- streamable HTTP

def origin_allowed(origin):
    if on("origin-substring"):
        return "localhost" in origin or "127.0.0.1" in origin
    return urlsplit(origin).hostname in ("localhost", "127.0.0.1", "::1")


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, **headers):
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        if data:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, words, code=-32600):
        self.answer(status, {"jsonrpc": "2.0", "error": {"code": code, "message": words}})

    def entrance(self):
        """True when the request may go on."""
        origin = self.headers.get("Origin")
        if origin is not None and not origin_allowed(origin):
            self.refuse(403, "origin not allowed")
        elif urlsplit(self.path).path != "/mcp":
            self.refuse(404, "the endpoint is /mcp")
        else:
            return True
        return False

    def session(self):
        name = self.headers.get("Mcp-Session-Id")
        if name is None:
            self.refuse(400, "Mcp-Session-Id is missing")
        elif name not in SESSIONS:
            self.refuse(404, "session not found")
        elif self.headers.get("MCP-Protocol-Version", VERSIONS[0]) not in VERSIONS and not on("version-header-unchecked"):
            self.refuse(400, "unsupported MCP-Protocol-Version")
        else:
            return SESSIONS[name]
        return None

    def event(self, message):
        data = f"event: message\ndata: {json.dumps(message)}\n\n".encode()
        with self.writing:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

    def stream(self):
        self.writing = threading.Lock()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.entrance():
            return
        accept = self.headers.get("Accept", "")
        if "*/*" not in accept and not ("application/json" in accept and "text/event-stream" in accept):
            return self.refuse(406, "accept application/json and text/event-stream")
        if self.headers.get_content_type() != "application/json":
            return self.refuse(415, "send application/json")
        message, wrong = parse(raw)
        if wrong:
            return self.refuse(400, wrong["error"]["message"], wrong["error"]["code"])
        if message.get("method") == "initialize" and "id" in message:
            session, out, name = Session(lambda m: None), [], uuid.uuid4().hex
            session.handle(message, out.append)
            if "result" not in out[0]:
                return self.answer(200, out[0])
            SESSIONS[name] = session
            return self.answer(200, out[0], Mcp_Session_Id=name)
        session = self.session()
        if session is None:
            return
        if "id" not in message or "method" not in message:
            session.handle(message, lambda m: None)
            return self.answer(202)
        if message["method"] != "tools/call":
            out = []
            session.handle(message, out.append)
            return self.answer(200, out[0])
        self.stream()
        session.handle(message, self.event)
        if on("progress-after-result"):
            time.sleep(0.5)
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        if not self.entrance():
            return
        if "text/event-stream" not in self.headers.get("Accept", ""):
            return self.refuse(406, "accept text/event-stream")
        session = self.session()
        if session is None:
            return
        self.stream()
        session.send = self.event
        try:
            while session in list(SESSIONS.values()):
                time.sleep(1)
                with self.writing:
                    self.wfile.write(b"3\r\n:\n\n\r\n")
                    self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass
        finally:
            session.send = lambda m: None

    def do_DELETE(self):
        if self.entrance() and self.session() is not None:
            del SESSIONS[self.headers["Mcp-Session-Id"]]
            self.answer(204)


if __name__ == "__main__":
    if "--http" in sys.argv:
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--http") + 1])), Endpoint).serve_forever()
    else:
        serve_stdio()
