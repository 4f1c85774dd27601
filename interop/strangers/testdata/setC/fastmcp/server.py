"""A town museum as an MCP server, written with FastMCP of the official Python SDK.

Without arguments it speaks stdio; `--http PORT` serves streamable HTTP.
DEFECT=name in the environment switches one mistake on.
"""
import base64
import io
import json
import math
import os
import struct
import subprocess
import sys
import time
import wave
import zlib
from datetime import date, datetime, timedelta, timezone
from typing import Annotated, Literal
from weakref import WeakKeyDictionary

import anyio
from mcp import types
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import McpError
from mcp.shared.message import SessionMessage
from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS
from pydantic import AnyUrl, BaseModel, Field

DEFECT = os.environ.get("DEFECT", "")


def on(name: str) -> bool:
    return DEFECT == name


def wrong(code: int, message: str, data=None) -> McpError:
    return McpError(types.ErrorData(code=code, message=message, data=data))


# --- the collection -------------------------------------------------------

HALLS = ["antiquity", "river", "trades", "tower"]
EXHIBITS = {
    "e1": {"title": "Bronze jug", "year": -120, "hall": "antiquity", "weight": 2.4},
    "e2": {"title": "Glass bowl", "year": 210, "hall": "antiquity", "weight": 0.7},
    "e3": {"title": "Ferryman's boat", "year": 1640, "hall": "river", "weight": 310.0},
    "e4": {"title": "Flood mark", "year": 1784, "hall": "river", "weight": 95.5},
    "e5": {"title": "Cobbler's bench", "year": 1822, "hall": "trades", "weight": 41.0},
    "e6": {"title": "Printing press", "year": 1851, "hall": "trades", "weight": 780.0},
    "e7": {"title": "Fire bell", "year": 1699, "hall": "tower", "weight": 220.0},
    "e8": {"title": "Town clock", "year": 1731, "hall": "tower", "weight": 164.2},
}
TERMS = [f"term {n:03d}" for n in range(1, 141)]  # the glossary of the museum
VISITORS = {0: [], 1: [41, 55, 38], 2: [60, 44, 57], 3: [39, 62, 70], 4: [88, 91, 75], 5: [140, 152, 133], 6: [160, 149, 171]}


def png(size: int) -> bytes:
    raw = b"".join(b"\0" + bytes((x * y * 5 + x) & 255 for x in range(size)) for y in range(size))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def wav(pitch: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(1)
        w.setframerate(4000)
        w.writeframes(bytes(int(127 + 100 * math.sin(i * pitch / 640)) for i in range(800)))
    return out.getvalue()


def exhibit_card(key: str) -> dict:
    return {"id": key, **EXHIBITS[key]}


# --- the server -----------------------------------------------------------


class Museum(FastMCP):
    """FastMCP with the error codes that the specification names."""

    async def read_resource(self, uri: AnyUrl | str):
        try:
            resource = await self._resource_manager.get_resource(uri, context=self.get_context())
        except ValueError as e:
            raise wrong(-32002, "Resource not found", {"uri": str(uri)}) from e
        content = await resource.read()
        return [ReadResourceContents(content=content, mime_type=resource.mime_type, meta=resource.meta)]

    async def get_prompt(self, name, arguments=None):
        if not on("prompt-errors-code-0"):
            prompt = self._prompt_manager.get_prompt(name)
            if prompt is None:
                raise wrong(types.INVALID_PARAMS, f"Unknown prompt: {name}")
            for arg in prompt.arguments or []:
                if arg.required and not (arguments or {}).get(arg.name):
                    raise wrong(types.INVALID_PARAMS, f"Missing argument: {arg.name}")
        return await super().get_prompt(name, arguments)


if on("rebinding-protection-off"):
    # The check got in the way behind the proxy.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
else:
    names = ["127.0.0.1", "localhost", "[::1]"]
    security = TransportSecuritySettings(
        allowed_hosts=[h + p for h in names for p in ("", ":*")],
        allowed_origins=["http://" + h + p for h in names for p in ("", ":*")],
    )

mcp = Museum("town-museum", instructions="Exhibits, tickets and tours of a town museum.",
             log_level="ERROR", transport_security=security)
low = mcp._mcp_server
low.version = "0.9.3"

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
levels: WeakKeyDictionary = WeakKeyDictionary()
followers: WeakKeyDictionary = WeakKeyDictionary()


@low.set_logging_level()
async def set_level(level: types.LoggingLevel) -> None:
    levels[low.request_context.session] = level


async def say(ctx: Context, level: str, message: str) -> None:
    """Logs to the client, as far as it wants to know."""
    wanted = levels.get(ctx.session, "info")
    if LEVELS.index(level) >= LEVELS.index(wanted) or on("level-ignored"):
        await ctx.session.send_log_message(level=level, data=message, logger="museum", related_request_id=ctx.request_id)


def revision(ctx: Context) -> str:
    asked = str(ctx.session.client_params.protocolVersion)
    return asked if asked in SUPPORTED_PROTOCOL_VERSIONS else types.LATEST_PROTOCOL_VERSION


def offers(ctx: Context, **capability) -> bool:
    return ctx.session.check_client_capability(types.ClientCapabilities(**capability))


# Tools: unknown names are an error of the protocol, wrong arguments one of the tool.
low.call_tool(validate_input=True)(mcp.call_tool)
call_listed = low.request_handlers[types.CallToolRequest]


async def call_tool(req: types.CallToolRequest):
    if mcp._tool_manager.get_tool(req.params.name) is None:
        raise wrong(types.INVALID_PARAMS, f"Unknown tool: {req.params.name}")
    return await call_listed(req)


low.request_handlers[types.CallToolRequest] = call_tool


# Resources come in pages.
PAGE = 5
walk = None  # the pages that are still to be handed out


def after(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        at = int(base64.b64decode(cursor, validate=True))
    except ValueError as e:
        raise wrong(types.INVALID_PARAMS, "Unknown cursor") from e
    if at % PAGE or at <= 0 or at >= len(mcp._resource_manager.list_resources()):
        raise wrong(types.INVALID_PARAMS, "Unknown cursor")
    return at


@low.list_resources()
async def list_resources(req: types.ListResourcesRequest) -> types.ListResourcesResult:
    global walk
    everything = await mcp.list_resources()
    cursor = req.params.cursor if req is not None and req.params else None
    if on("cursor-one-position"):
        # One walk through the list, page by page.
        if cursor is None or walk is None:
            walk = iter([everything[i:i + PAGE] for i in range(0, len(everything), PAGE)])
        page = next(walk, [])
        more = walk.__length_hint__() > 0
        return types.ListResourcesResult(resources=page, nextCursor="next" if more else None)
    start = after(cursor)
    end = start + PAGE
    following = base64.b64encode(str(end).encode()).decode() if end < len(everything) else None
    return types.ListResourcesResult(resources=everything[start:end], nextCursor=following)


def one_page(request_type: type) -> None:
    """The other lists fit on one page, so that every cursor is unknown."""
    plain = low.request_handlers[request_type]

    async def handler(req):
        if req is not None and req.params and req.params.cursor is not None:
            raise wrong(types.INVALID_PARAMS, "Unknown cursor")
        return await plain(req)

    low.request_handlers[request_type] = handler


one_page(types.ListToolsRequest)
one_page(types.ListPromptsRequest)
one_page(types.ListResourceTemplatesRequest)


@low.subscribe_resource()
async def subscribe(uri: AnyUrl) -> None:
    await mcp.read_resource(uri)
    followers.setdefault(low.request_context.session, set()).add(str(uri))


@low.unsubscribe_resource()
async def unsubscribe(uri: AnyUrl) -> None:
    followers.get(low.request_context.session, set()).discard(str(uri))


async def changed(uri: str) -> None:
    for session, uris in list(followers.items()):
        if uri in uris:
            try:
                await session.send_resource_updated(AnyUrl(uri))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                followers.pop(session, None)


if not on("subscribe-undeclared"):
    plain_capabilities = low.get_capabilities

    def get_capabilities(*args):
        found = plain_capabilities(*args)
        found.resources.subscribe = True
        return found

    low.get_capabilities = get_capabilities


# The SDK answers unknown methods with "invalid params"; say what is wrong.
METHODS = {t.model_fields["method"].annotation.__args__[0] for t in types.ClientRequestType.__args__}
plain_run = low.run


async def run(read_stream, write_stream, options, *args, **kwargs):
    into, out = anyio.create_memory_object_stream(0)

    async def sort() -> None:
        async with into:
            async for item in read_stream:
                root = item.message.root if isinstance(item, SessionMessage) else None
                if isinstance(root, types.JSONRPCRequest) and root.method not in METHODS:
                    error = types.ErrorData(code=types.METHOD_NOT_FOUND, message="Method not found")
                    answer = types.JSONRPCError(jsonrpc="2.0", id=root.id, error=error)
                    await write_stream.send(SessionMessage(types.JSONRPCMessage(answer)))
                    continue
                await into.send(item)

    async with anyio.create_task_group() as tg:
        tg.start_soon(sort)
        await plain_run(out, write_stream, options, *args, **kwargs)
        tg.cancel_scope.cancel()


low.run = run


# --- tools ----------------------------------------------------------------

Hall = Literal["antiquity", "river", "trades", "tower"]


class Exhibit(BaseModel):
    id: str
    title: str
    year: int
    hall: Hall


class ExhibitList(BaseModel):
    exhibits: list[Exhibit]


@mcp.tool(title="Find exhibits", annotations=types.ToolAnnotations(readOnlyHint=True))
def find_exhibits(
    query: Annotated[str, Field(description="Part of the title")] = "",
    hall: Annotated[Literal["any", "antiquity", "river", "trades", "tower"], Field(description="Where to look")] = "any",
    limit: Annotated[int, Field(ge=1, le=50)] = 20,
) -> ExhibitList:
    """Exhibits by title and hall."""
    found = [
        Exhibit(id=key, title=e["title"], year=e["year"], hall=e["hall"])
        for key, e in EXHIBITS.items()
        if query.lower() in e["title"].lower() and hall in ("any", e["hall"])
    ]
    return ExhibitList(exhibits=found[:limit])


class Hours(BaseModel):
    day: date
    opens: datetime
    closes: datetime


@mcp.tool(title="Opening hours", annotations=types.ToolAnnotations(readOnlyHint=True))
def opening_hours(day: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="For example 2026-06-01")]) -> Hours:
    """When the museum is open on a day."""
    try:
        wanted = date.fromisoformat(day)
    except ValueError as e:
        raise ToolError(f"No such day: {day}") from e
    zone = None if on("hours-without-zone") else timezone(timedelta(hours=2))
    at = datetime(wanted.year, wanted.month, wanted.day, 10 if wanted.weekday() < 5 else 9, tzinfo=zone)
    return Hours(day=wanted, opens=at, closes=at + timedelta(hours=7))


class Quote(BaseModel):
    price: float = Field(ge=0)
    currency: Literal["EUR"]
    people: int


@mcp.tool(title="Ticket price", annotations=types.ToolAnnotations(readOnlyHint=True))
def ticket_price(
    adults: Annotated[int, Field(ge=0, le=50)],
    children: Annotated[int, Field(ge=0, le=50)] = 0,
    member: Annotated[bool, Field(description="Members pay half")] = False,
) -> Annotated[types.CallToolResult, Quote]:
    """What tickets cost."""
    price = 9.5 * adults + 4 * children
    quote = {"price": price, "currency": "EUR", "people": adults + children}
    if member:
        quote["price"] = f"{price / 2:.2f}" if on("member-price-text") else round(price / 2, 2)
    return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(quote))], structuredContent=quote)


class Stats(BaseModel):
    weekday: int
    days: int
    mean: float


@mcp.tool(title="Visitor numbers", annotations=types.ToolAnnotations(readOnlyHint=True))
def visitor_numbers(weekday: Annotated[int, Field(ge=0, le=6, description="0 is Monday, when the museum is closed")]) -> Stats:
    """Mean number of visitors on a day of the week."""
    seen = VISITORS[weekday]
    mean = sum(seen) / len(seen) if seen else 0.0
    if not seen and on("closed-day-nan"):
        mean = float("nan")
    return Stats(weekday=weekday, days=len(seen), mean=mean)


@mcp.tool(title="Plan a restoration")
async def plan_restoration(
    exhibit: str,
    ctx: Context,
    steps: Annotated[int, Field(ge=1, le=20)] = 5,
    thorough: Annotated[bool, Field(description="Scans the exhibit first, takes some seconds")] = False,
) -> str:
    """Plans the restoration of an exhibit, step by step."""
    if exhibit not in EXHIBITS:
        if on("restoration-error-as-text"):
            return f"Error: no exhibit {exhibit}"
        raise ToolError(f"No exhibit {exhibit}")
    if thorough:
        if on("blocking-scan"):
            time.sleep(4)
        else:
            await anyio.sleep(4)
    for step in range(1, steps + 1):
        await anyio.sleep(0.06)
        if on("progress-arguments-swapped"):
            await ctx.report_progress(steps, step, f"step {step}")
        else:
            await ctx.report_progress(step, steps, f"step {step}")
        await say(ctx, "debug", f"step {step} planned")
    await say(ctx, "info", f"restoration of {EXHIBITS[exhibit]['title']} planned")
    return f"{steps} steps for {EXHIBITS[exhibit]['title']}"


class Contact(BaseModel):
    name: str = Field(title="Name", min_length=1)
    phone: str = Field(default="", title="Telephone")


class ContactWithGap(BaseModel):
    name: str = Field(title="Name", min_length=1)
    phone: str | None = Field(default=None, title="Telephone")


class Tour(BaseModel):
    number: str
    language: str
    people: int
    contact: str


@mcp.tool(title="Book a tour")
async def book_tour(
    language: Literal["en", "de", "fr"], people: Annotated[int, Field(ge=1, le=25)], ctx: Context
) -> Tour:
    """Books a guided tour; asks who is to be called."""
    contact = "open"
    form = types.ElicitationCapability()
    declared = ctx.session.client_params.capabilities.elicitation
    only_url = declared is not None and declared.url is not None and declared.form is None
    if revision(ctx) >= "2025-06-18" and offers(ctx, elicitation=form) and not only_url:
        reply = await ctx.elicit("Whom do we call?", ContactWithGap if on("phone-optional") else Contact)
        if reply.action != "accept":
            raise ToolError("The booking was given up.")
        contact = reply.data.name
    return Tour(number=f"T{people}{language}{int(time.time()) % 10000}", language=language, people=people, contact=contact)


@mcp.tool(title="Picture of an exhibit", structured_output=False, annotations=types.ToolAnnotations(readOnlyHint=True))
def exhibit_picture(exhibit: str, size: Annotated[int, Field(ge=8, le=128)] = 32) -> list[types.ContentBlock]:
    """A picture of an exhibit."""
    if exhibit not in EXHIBITS:
        raise ToolError(f"No exhibit {exhibit}")
    data = base64.b64encode(png(size)).decode()
    if on("picture-data-uri"):
        data = "data:image/png;base64," + data
    return [
        types.ImageContent(type="image", mimeType="image/png", data=data),
        types.TextContent(type="text", text=EXHIBITS[exhibit]["title"]),
    ]


@mcp.tool(title="Audio guide", structured_output=False)
def audio_guide(exhibit: str, ctx: Context, pitch: Annotated[int, Field(ge=100, le=900)] = 440) -> list[types.ContentBlock]:
    """The sound that goes with an exhibit."""
    if exhibit not in EXHIBITS:
        raise ToolError(f"No exhibit {exhibit}")
    if pitch > 600:
        # High voices need more room: see whether there is any.
        subprocess.run(["df", "-k", "."], check=False, capture_output=not on("child-writes-stdout"))
    data = base64.b64encode(wav(pitch)).decode()
    if revision(ctx) < "2025-03-26":
        blob = types.BlobResourceContents(uri=AnyUrl(f"museum://sounds/{exhibit}"), mimeType="audio/wav", blob=data)
        return [types.EmbeddedResource(type="resource", resource=blob)]
    return [types.AudioContent(type="audio", mimeType="audio/wav", data=data)]


@mcp.tool(title="Describe for children")
async def describe_for_children(exhibit: str, ctx: Context) -> str:
    """Lets the model of the client describe an exhibit for children."""
    if exhibit not in EXHIBITS:
        raise ToolError(f"No exhibit {exhibit}")
    if not on("sampling-undeclared") and not offers(ctx, sampling=types.SamplingCapability()):
        raise ToolError("This client has no language model to ask.")
    ask = types.TextContent(type="text", text=f"Describe the {EXHIBITS[exhibit]['title']} for children.")
    reply = await ctx.session.create_message(
        messages=[types.SamplingMessage(role="user", content=ask)], max_tokens=120, related_request_id=ctx.request_id)
    return reply.content.text if isinstance(reply.content, types.TextContent) else "The model gave no text."


class Move(BaseModel):
    exhibit: str
    hall: Hall


@mcp.tool(title="Move an exhibit")
async def move_exhibit(exhibit: str, hall: Hall, ctx: Context) -> Move:
    """Moves an exhibit to another hall."""
    if exhibit not in EXHIBITS:
        raise ToolError(f"No exhibit {exhibit}")
    old, EXHIBITS[exhibit]["hall"] = EXHIBITS[exhibit]["hall"], hall
    for uri in {f"museum://exhibits/{exhibit}", f"museum://halls/{old}", f"museum://halls/{hall}"}:
        await changed(uri)
    await say(ctx, "notice", f"{exhibit} stands in {hall}")
    return Move(exhibit=exhibit, hall=hall)


# --- resources, prompts, completion ---------------------------------------


@mcp.resource("museum://house/rules", name="rules of the house", mime_type="text/plain")
def house_rules() -> str:
    return "No food. No flash. Children with their parents.\n"


@mcp.resource("museum://house/plan.png", name="plan of the house", mime_type="image/png")
def house_plan() -> bytes:
    data = png(24)
    return str(data) if on("plan-bytes-as-text") else data


@mcp.resource("museum://house/glossary", name="glossary", mime_type="application/json")
def glossary() -> list[str]:
    return TERMS


def add_hall(hall: str) -> None:
    @mcp.resource(f"museum://halls/{hall}", name=f"hall {hall}", mime_type="application/json")
    def read_hall() -> list[dict]:
        return [exhibit_card(k) for k, e in EXHIBITS.items() if e["hall"] == hall]


def add_exhibit(key: str) -> None:
    @mcp.resource(f"museum://exhibits/{key}", name=f"exhibit {key}", mime_type="application/json")
    def read_exhibit() -> dict:
        return exhibit_card(key)


for one in HALLS:
    add_hall(one)
for one in list(EXHIBITS)[:5]:
    add_exhibit(one)


@mcp.resource("museum://exhibits/{exhibit}", name="exhibit", mime_type="application/json")
def any_exhibit(exhibit: str) -> dict:
    """One exhibit with its hall, year and weight."""
    return exhibit_card(exhibit)


@mcp.prompt(title="Label")
def write_label(exhibit: str, language: str = "en") -> str:
    """A label for an exhibit."""
    return f"Write a label in {language} for exhibit {exhibit}."


@mcp.prompt(title="Quiz")
def quiz(hall: str) -> list[dict]:
    """A quiz about a hall."""
    return [
        {"role": "user", "content": {"type": "text", "text": f"Make a quiz about the hall {hall}."}},
        {"role": "assistant", "content": {"type": "text", "text": "Here are three questions:"}},
    ]


@mcp.prompt(title="Explain a term")
def explain_term(term: str) -> str:
    """Explains a term of the glossary."""
    return f"Explain {term} in two sentences."


@mcp.completion()
async def complete(ref, argument, context) -> types.Completion:
    key = (ref.name if isinstance(ref, types.PromptReference) else ref.uri, argument.name)
    choices = {
        ("write_label", "exhibit"): list(EXHIBITS),
        ("write_label", "language"): ["de", "en", "fr"],
        ("quiz", "hall"): HALLS,
        ("explain_term", "term"): TERMS,
        ("museum://exhibits/{exhibit}", "exhibit"): list(EXHIBITS),
    }
    if key not in choices:
        raise wrong(types.INVALID_PARAMS, f"Nothing to complete for {key[1]} of {key[0]}")
    found = [v for v in choices[key] if v.startswith(argument.value)]
    more = False if on("completion-has-no-more") else len(found) > 100
    return types.Completion(values=found[:100], total=len(found), hasMore=more)


# --- transports -----------------------------------------------------------


def serve_http(port: int) -> None:
    import uvicorn
    from mcp.server.fastmcp.server import StreamableHTTPASGIApp
    from starlette.routing import Route

    app = mcp.streamable_http_app()
    app.router.routes.append(Route("/", endpoint=StreamableHTTPASGIApp(mcp.session_manager)))

    async def status_ok(scope, receive, send):
        # The monitor in front of the museum knows no other success than 200.
        async def sent(message):
            if message["type"] == "http.response.start" and message["status"] == 202:
                message = {**message, "status": 200}
            await send(message)

        await app(scope, receive, sent)

    uvicorn.run(status_ok if on("accepted-as-200") else app, host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    if "--http" in sys.argv:
        serve_http(int(sys.argv[sys.argv.index("--http") + 1]))
    else:
        mcp.run()
