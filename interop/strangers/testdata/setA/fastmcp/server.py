"""A notebook as an MCP server on the official Python SDK's FastMCP.

Runs on stdio, or over streamable HTTP at /mcp with `--http PORT`.
DEFECT=name in the environment switches one mistake on.
"""
import asyncio
import base64
import functools
import os
import struct
import sys
import time
import weakref
import zlib
from typing import Annotated
from urllib.parse import quote, unquote

import anyio
import uvicorn
from mcp import McpError, types
from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel, ConfigDict, Field

DEFECT = os.environ.get("DEFECT", "")
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def on(name: str) -> bool:
    return DEFECT == name


class Note:
    def __init__(self, title: str, body: str, tags: list[str]):
        self.title, self.body, self.tags = title, body, tags


NOTES: dict[str, Note] = {}
for note in [
    Note("groceries", "bread, apples, tea", ["home"]),
    Note("café list", "Bazar, Central, Möbel-Olfe", ["town", "coffee"]),
    Note("empty page", "", []),
]:
    NOTES[note.title] = note
TAGS = ["home", "town", "coffee"] + [f"project-{n:03}" for n in range(1, 141)]


def png(seed: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes((seed * (i + 1) * (j + 3)) % 256 for j in range(20)) for i in range(20))
    head = struct.pack(">IIBBBBB", 20, 20, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def uri_of(title: str) -> str:
    return f"note://pages/{quote(title)}"


def title_in(uri: str) -> str:
    """The title in the URI of a page or a sketch."""
    return unquote(uri.rsplit("/", 1)[1])


class Notebook(FastMCP):
    """FastMCP with the error codes of the specification."""

    async def list_resources(self):
        pages = [types.Resource(uri=uri_of(n.title), name=n.title, mimeType="text/plain") for n in NOTES.values()]
        return await super().list_resources() + pages

    async def read_resource(self, uri):
        known = str(uri) == "note://index" or str(uri).startswith(("note://pages/", "note://sketches/"))
        if known and str(uri) != "note://index":
            known = title_in(str(uri)) in NOTES
        if not known and not on("error-code-zero"):
            raise McpError(types.ErrorData(code=-32002, message="Resource not found", data={"uri": str(uri)}))
        return await super().read_resource(uri)

    async def get_prompt(self, name, arguments=None):
        prompt = next((p for p in await self.list_prompts() if p.name == name), None)
        missing = [a.name for a in (prompt.arguments or []) if a.required and a.name not in (arguments or {})] if prompt else []
        if (prompt is None or missing) and not on("error-code-zero"):
            raise McpError(types.ErrorData(code=-32602, message=f"Invalid prompt or arguments: {name} {missing}"))
        return await super().get_prompt(name, arguments)


security = TransportSecuritySettings(
    enable_dns_rebinding_protection=not on("rebinding-protection-off"),
    allowed_hosts=["127.0.0.1:*", "localhost:*"],
    allowed_origins=["http://127.0.0.1:*", "http://localhost:*"],
)
app = Notebook("notebook", instructions="Titles are the keys of notes.", transport_security=security, log_level="ERROR")
levels: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
drafts: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
shared_draft: list[str] = []
merging = asyncio.Lock()

if not on("logging-unhandled"):
    @app._mcp_server.set_logging_level()
    async def set_level(level: types.LoggingLevel) -> None:
        levels[app.get_context().session] = level


async def log(ctx: Context, level: str, words: str) -> None:
    least = levels.get(ctx.session, "warning")
    if on("log-level-ignored") or on("logging-unhandled") or LEVELS.index(level) >= LEVELS.index(least):
        await ctx.session.send_log_message(level, words, logger="notebook", related_request_id=ctx.request_id)


# ---------------------------------------------------------------- tools

def friendly(tool):
    """Turn an exception of a tool into words."""
    @functools.wraps(tool)
    async def wrapped(*args, **kwargs):
        try:
            return await tool(*args, **kwargs)
        except ValueError as e:
            return f"Error: {e}"
    return wrapped if on("failure-as-text") else tool


Title = Annotated[str, Field(description="title of the note", min_length=1)]
Day = Annotated[str, Field(description="YYYY-MM-DD", json_schema_extra={"type": "date"} if on("field-type-date") else {"format": "date"})]


@app.tool(description="Write a note, or overwrite it", structured_output=False)
async def write_note(title: Title, body: str, ctx: Context, tags: list[str] | None = None) -> str:
    NOTES[title] = Note(title, body, tags or [])
    if on("print-debug"):
        print("written:", title)
    await log(ctx, "info", f"wrote {title}")
    return f"{title} written"


@app.tool(description="Notes that contain a word", structured_output=False)
async def find_notes(word: str, limit: Annotated[int, Field(ge=1)] = 20) -> str:
    found = [n.title for n in NOTES.values() if word.lower() in f"{n.title} {n.body}".lower()]
    return "\n".join(found[:limit]) or "no note"


class Statistics(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str
    words: int
    tags: list[str]
    longest_word: int


@app.tool(description="Figures of a note")
async def note_statistics(title: Title) -> Statistics:
    if title not in NOTES:
        raise ValueError(f"no note {title}")
    words = NOTES[title].body.split()
    return Statistics(title=title, words=len(words), tags=NOTES[title].tags, longest_word=max((len(w) for w in words), default=0))


@app.tool(description="Remove a note", structured_output=False)
@friendly
async def remove_note(title: Title) -> str:
    if title not in NOTES:
        raise ValueError(f"no note {title}")
    del NOTES[title]
    return f"{title} removed"


@app.tool(description="Merge notes into one new note; takes a while", structured_output=False)
async def merge_notes(titles: list[str], into: Title, ctx: Context) -> str:
    await merging.acquire()
    try:
        if on("blocking-sleep"):
            time.sleep(2.5)
        for phase in range(2):
            for done, title in enumerate(titles, 1):
                await anyio.sleep(0.1)
                progress = done if on("progress-restarts") else phase * len(titles) + done
                await ctx.report_progress(progress, 2 * len(titles), f"{('read', 'wrote')[phase]} {title}")
        NOTES[into] = Note(into, "\n".join(NOTES[t].body for t in titles if t in NOTES), [])
    except BaseException:
        if not on("lock-kept-after-cancel"):
            merging.release()
        raise
    merging.release()
    return f"{len(titles)} notes merged"


@app.tool(description="Add a line to the draft of this session and give the whole draft", structured_output=False)
async def extend_draft(line: str, ctx: Context) -> str:
    draft = shared_draft if on("drafts-shared") else drafts.setdefault(ctx.session, [])
    draft.append(line)
    return "\n".join(draft)


@app.tool(description="The sketch of a note as a picture", structured_output=False)
async def note_sketch(title: Title) -> Image:
    if title not in NOTES:
        raise ValueError(f"no note {title}")
    return Image(data=png(len(title)), format="png")


@app.tool(description="Notes of a day", structured_output=False)
async def day_page(day: Day) -> str:
    return f"nothing was written on {day}"


@app.tool(description="All tags in use")
async def list_tags() -> list[str]:
    return TAGS


# ---------------------------------------------------------------- resources, prompts, completion

@app.resource("note://index", name="index", mime_type="text/plain", description="Titles of all notes")
def index() -> str:
    return "\n".join(NOTES)


@app.resource("note://pages/{title}", name="page", mime_type="text/plain")
def read_page(title: str) -> str:
    if on("title-not-unquoted"):
        return NOTES[title].body
    return NOTES[unquote(title)].body


@app.resource("note://sketches/{title}", name="sketch", mime_type="image/png")
def read_sketch(title: str) -> bytes | str:
    data = png(len(unquote(title)))
    return base64.b64encode(data).decode() if on("picture-as-text") else data


@app.prompt(description="Ask for a summary of a note")
def summarise(title: str, language: str = "English") -> str:
    return f"Summarise my note {title!r} in {language}."


@app.prompt(description="Ask for notes to write on a tag")
def ideas(tag: str) -> str:
    return f"Give me ideas for notes with the tag {tag}."


@app.completion()
async def complete(ref, argument, context) -> types.Completion | None:
    if isinstance(ref, types.PromptReference):
        if ref.name not in ("summarise", "ideas"):
            raise McpError(types.ErrorData(code=-32602, message=f"unknown prompt {ref.name}"))
    elif ref.uri not in ("note://pages/{title}", "note://sketches/{title}"):
        raise McpError(types.ErrorData(code=-32602, message=f"unknown template {ref.uri}"))
    pool = {"title": list(NOTES), "tag": TAGS}.get(argument.name, [])
    hits = [v for v in pool if v.startswith(argument.value)]
    shown = hits if on("completion-unlimited") else hits[:100]
    return types.Completion(values=shown, total=len(hits), hasMore=len(hits) > len(shown))


# ---------------------------------------------------------------- wrappers around the handlers

def wrap_handlers() -> None:
    handlers = app._mcp_server.request_handlers
    call, tools = handlers[types.CallToolRequest], handlers[types.ListToolsRequest]

    async def known(request):
        if request.params.name not in [t.name for t in await app.list_tools()]:
            raise McpError(types.ErrorData(code=-32602, message=f"Unknown tool: {request.params.name}"))
        return await call(request)

    async def timed(request):
        begin = time.monotonic()
        answer = await known(request)
        if isinstance(answer.root, types.CallToolResult) and answer.root.structuredContent is not None:
            answer.root.structuredContent["elapsed"] = time.monotonic() - begin
        return answer

    async def slim(request):
        answer = await tools(request)
        for tool in answer.root.tools:
            if not tool.inputSchema.get("properties"):
                tool.inputSchema = {}
        return answer

    handlers[types.CallToolRequest] = timed if on("timing-in-structured") else known
    if on("schema-emptied"):
        handlers[types.ListToolsRequest] = slim


class ExactAccept:
    """Refuses clients that do not ask for what this server sends."""

    def __init__(self, inner):
        self.inner = inner

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and scope["method"] == "POST":
            accept = dict(scope["headers"]).get(b"accept", b"")
            if accept != b"application/json, text/event-stream":
                await send({"type": "http.response.start", "status": 406, "headers": [(b"content-length", b"0")]})
                await send({"type": "http.response.body", "body": b""})
                return
        await self.inner(scope, receive, send)


if __name__ == "__main__":
    wrap_handlers()
    if "--http" in sys.argv:
        web = app.streamable_http_app()
        if on("accept-compared-whole"):
            web = ExactAccept(web)
        uvicorn.run(web, host="127.0.0.1", port=int(sys.argv[sys.argv.index("--http") + 1]), log_level="error")
    else:
        app.run()
