"""The MCP server of a kitchen with its recipes, on FastMCP of the Python SDK.

Speaks stdio, or streamable HTTP with --http PORT (at /mcp). DEFECT=name
switches on one mistake.
"""
import asyncio
import base64
import json
import os
import sys
import time
from typing import Literal

from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import McpError
from mcp.types import (
    INVALID_PARAMS, CallToolRequest, Completion, ErrorData, GetPromptRequest, ReadResourceRequest, ResourceLink, SamplingMessage, TextContent, ToolAnnotations,
)
from pydantic import BaseModel, Field

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def defect(name):
    return os.environ.get("DEFECT") == name


PORT = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[1] == "--http" else 0
HOSTS = ["127.0.0.1", "localhost"]
security = TransportSecuritySettings(
    enable_dns_rebinding_protection=not defect("no-rebinding-protection"),
    allowed_hosts=["%s:%d" % (h, PORT) for h in HOSTS],
    allowed_origins=["http://%s%s" % (h, p) for h in HOSTS for p in ("", ":%d" % PORT)],
)
mcp = FastMCP("kitchen", instructions="Recipes are known by their short names.", transport_security=security,
              stateless_http=defect("stateless-elicits"), log_level="WARNING")


class Ingredient(BaseModel):
    name: str
    grams: float


class Recipe(BaseModel):
    id: str
    title: str
    servings: int
    minutes: int
    ingredients: list[Ingredient]


def recipe(rid, title, servings, minutes, **grams):
    return Recipe(id=rid, title=title, servings=servings, minutes=minutes, ingredients=[Ingredient(name=n, grams=g) for n, g in grams.items()])


RECIPES = {r.id: r for r in [
    recipe("crepes", "Crêpes Suzette", 4, 35, flour=150, milk=300, egg=120, orange=200),
    recipe("dal", "Dal mit Spinat", 3, 40, lentils=250, spinach=200, onion=100),
    recipe("ramen", "ラーメン", 2, 90, noodles=220, pork=180, egg=110),
    recipe("stock", "Vegetable stock", 0, 120, carrot=200, leek=150),  # makes what it makes
]}
levels = {}  # by session
latest = None


def known(rid):
    if rid not in RECIPES:
        raise ToolError("There is no recipe %r." % rid)
    return RECIPES[rid]


async def note(ctx, level, text):
    wanted = levels.get(id(ctx.session), "info")
    if LEVELS.index(level) >= LEVELS.index(wanted):
        await ctx.session.send_log_message(level=level, data=text, logger="kitchen", related_request_id=ctx.request_id)


if not defect("undeclared-logs"):
    @mcp._mcp_server.set_logging_level()
    async def set_level(level):
        levels[id(mcp._mcp_server.request_context.session)] = level


READ_ONLY = ToolAnnotations(readOnlyHint=True, openWorldHint=False)


class Found(BaseModel):
    recipes: list[Recipe]


@mcp.tool(annotations=READ_ONLY)
def find_recipes(ingredient: str = "", within_minutes: int = Field(default=600, ge=1)) -> Found:
    """Recipes that use an ingredient and are done in time."""
    return Found(recipes=[r for r in RECIPES.values() if r.minutes <= within_minutes
                          and (not ingredient or any(ingredient.lower() in i.name for i in r.ingredients))])


@mcp.tool(title="Look up a recipe", annotations=READ_ONLY)
def get_recipe(id: str) -> Recipe:
    """One recipe."""
    return known(id)


class Portion(BaseModel):
    id: str
    grams_each: float | None = Field(default=None, description="absent if the recipe has no servings")


class CertainPortion(BaseModel):
    id: str
    grams_each: float = Field(description="grams a serving")


@mcp.tool(annotations=READ_ONLY)
def portion_size(id: str) -> CertainPortion if defect("stock-by-zero") else Portion:
    """How much one serving weighs."""
    r = known(id)
    total = sum(i.grams for i in r.ingredients)
    if defect("stock-by-zero"):
        return CertainPortion(id=id, grams_each=total / r.servings if r.servings else float("inf"))
    return Portion(id=id, grams_each=total / r.servings if r.servings else None)


@mcp.tool(annotations=READ_ONLY)
def convert_amount(grams: float, unit: str) -> str:
    """Converts grams into kitchen units: cup, spoon or ounce."""
    sizes = {"cup": 240.0, "spoon": 15.0, "ounce": 28.35}
    if unit not in sizes:
        if defect("exits-on-unit"):
            sys.exit("unknown unit %s" % unit)
        raise ToolError("The unit must be one of %s." % ", ".join(sizes))
    return "%.2f %s" % (grams / sizes[unit], unit)


class Shopping(BaseModel):
    items: dict[str, float]


@mcp.tool()
async def shopping_list(ids: list[str]) -> Shopping:
    """What to buy for some recipes."""
    items, done, left = {}, asyncio.Event(), len(ids)

    async def collect(r):
        nonlocal left
        await asyncio.sleep(0.01)
        for i in r.ingredients:
            items[i.name] = items.get(i.name, 0) + i.grams
        left -= 1
        if left == 0:
            done.set()

    tasks = [asyncio.create_task(collect(known(rid))) for rid in ids]
    if tasks or defect("empty-list-hangs"):
        await done.wait()
    return Shopping(items=items)


@mcp.tool()
async def cook(id: str, ctx: Context, minute_ms: int = Field(default=5, ge=0, le=200)) -> str:
    """Cooks a recipe, a tenth at a time; takes a moment."""
    global latest
    latest = ctx
    r = known(id)
    for tenth in range(1, 11):
        if defect("blocking-sleep"):
            time.sleep(r.minutes * minute_ms / 10000)
        else:
            await asyncio.sleep(r.minutes * minute_ms / 10000)
        to = latest if defect("latest-context") else ctx
        done = r.minutes * tenth / 10
        await to.report_progress(r.minutes - done if defect("counts-down") else done, r.minutes, "%s: %d of 10" % (r.id, tenth))
        await note(ctx, "debug", "%s, step %d" % (r.id, tenth))
    await note(ctx, "notice", "%s is done" % r.title)
    if defect("timer-rings"):
        os.system("echo ding")
    return "%s is ready." % r.title


class Servings(BaseModel):
    servings: int = Field(ge=1, le=40, description="for how many")


@mcp.tool(annotations=ToolAnnotations(destructiveHint=False))
async def add_recipe(id: str, title: str, minutes: int, ctx: Context, servings: int | None = None) -> Recipe:
    """Writes down a recipe; asks for the servings if they are left out."""
    if id in RECIPES:
        raise ToolError("There is a recipe %r already." % id)
    if servings is None:
        client = ctx.session.client_params
        careless = defect("elicits-unasked") or defect("stateless-elicits")
        if not careless and not (client and client.capabilities.elicitation):
            raise ToolError("Call again with servings.")
        answer = await ctx.elicit("For how many is %s?" % title, Servings)
        if answer.action != "accept":
            raise ToolError("Nothing was written: the user said %s." % answer.action)
        servings = answer.data.servings
    RECIPES[id] = recipe(id, title, servings, minutes)
    if defect("unasked-updates"):
        await ctx.session.send_resource_updated("recipe://menu")
    return RECIPES[id]


@mcp.tool(name="serve dish" if defect("spaced-name") else "serve_dish", structured_output=False)
def serve_dish(id: str) -> list:
    """A picture of the dish, and where its recipe is."""
    r = known(id)
    return [Image(data=PICTURE, format="png"), "Enjoy %s!" % r.title,
            ResourceLink(type="resource_link", uri="recipe://id/" + r.id, name=r.id, mimeType="application/json")]


@mcp.tool(structured_output=False)
async def suggest_dish(leftovers: str, ctx: Context) -> str:
    """Has the client's model think of a dish."""
    client = ctx.session.client_params
    if not (client and client.capabilities.sampling):
        raise ToolError("The client has no model to offer.")
    answer = await ctx.session.create_message(
        [SamplingMessage(role="user", content=TextContent(type="text", text="What can I cook from %s?" % leftovers))],
        max_tokens=150, related_request_id=ctx.request_id)
    return answer.content.text if answer.content.type == "text" else "no idea"


@mcp.resource("recipe://menu", name="menu", mime_type="text/plain")
def menu() -> str:
    return "\n".join(r.title for r in RECIPES.values())


@mcp.resource("recipe://photo", name="photo of the kitchen", mime_type="image/png")
def photo() -> bytes:
    return str(PICTURE) if defect("photo-as-text") else PICTURE


@mcp.resource("recipe://id/{id}", name="recipe", mime_type="application/json")
def recipe_text(id: str) -> str:
    if id not in RECIPES:
        if defect("missing-as-text"):
            return json.dumps({"error": "no such recipe"})
        raise ValueError("no such recipe")
    return RECIPES[id].model_dump_json()


@mcp.prompt(description="Asks for an introduction to a dish.")
def introduce(id: str, audience: Literal["children", "guests"] | None = None) -> str:
    if id not in RECIPES:
        raise ValueError("id must name a recipe")
    listener = audience.upper() if defect("audience-needed") else (audience or "guests").upper()
    return "Introduce %s to an audience of %s." % (RECIPES[id].title, listener)


@mcp.prompt(description="Plans the week.")
def week_plan() -> str:
    return "Plan dinners for a week from the recipes of the kitchen."


@mcp.completion()
async def complete(ref, argument, context):
    name = getattr(ref, "name", None) or str(getattr(ref, "uri", ""))
    options = {("introduce", "id"): list(RECIPES), ("introduce", "audience"): ["children", "guests"], ("recipe://id/{id}", "id"): list(RECIPES)}
    if (name, argument.name) not in options:
        raise McpError(ErrorData(code=INVALID_PARAMS, message="There is nothing to complete there"))
    values = [o for o in options[name, argument.name] if o.startswith(argument.value)]
    if defect("endless-completion"):
        return Completion(values=(values * 60)[:110], total=len(values), hasMore=False)
    return Completion(values=values, total=len(values), hasMore=False)


def exact(kind, translate):
    """Has failures of a method reported with the code that the specification names."""
    inner = mcp._mcp_server.request_handlers[kind]

    async def outer(request):
        try:
            early = translate(request.params, None)
            if early:
                raise early
            return await inner(request)
        except (ValueError, KeyError) as e:
            raise translate(request.params, e) or e
    mcp._mcp_server.request_handlers[kind] = outer


def tool_error(params, e):
    if params.name not in [t.name for t in mcp._tool_manager.list_tools()]:
        return McpError(ErrorData(code=INVALID_PARAMS, message="Unknown tool: %s" % params.name))


def resource_error(params, e):
    if e is not None:
        return McpError(ErrorData(code=-32002, message="Resource not found", data={"uri": str(params.uri)}))


def prompt_error(params, e):
    if e is not None and not defect("audience-needed"):
        return McpError(ErrorData(code=INVALID_PARAMS, message=str(e)))


exact(CallToolRequest, tool_error)
exact(ReadResourceRequest, resource_error)
exact(GetPromptRequest, prompt_error)


class FriendlyStatuses:
    """Middleware for a gateway that cannot stand error statuses."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        async def smoothed(message):
            if message["type"] == "http.response.start" and message["status"] >= 400:
                message["status"] = 200
            await send(message)
        await self.app(scope, receive, smoothed if scope["type"] == "http" else send)


if __name__ == "__main__":
    if PORT:
        import uvicorn
        app = mcp.streamable_http_app()
        uvicorn.run(FriendlyStatuses(app) if defect("friendly-statuses") else app, host="127.0.0.1", port=PORT, log_level="error")
    else:
        mcp.run()
