"""The person before host.py: the settings of mcpctl proxy, the answers to questions, and what to do. That is a
task of "mcpctl conform client" (docs/conformance-clients.md), or a scenario of the official suite."""
import atexit, hashlib, json, os, queue, shutil, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

RESERVED, ASKS = "io.modelcontextprotocol/", ("tools/call", "prompts/get", "resources/read")
env, home = os.environ, tempfile.mkdtemp()
atexit.register(shutil.rmtree, home, ignore_errors=True)
scenario, told = env.get("MCP_CONFORMANCE_SCENARIO", ""), json.loads(env.get("MCP_CONFORMANCE_CONTEXT") or "{}")

# The file of --auth program for a scenario of the official suite, from the members of its context.
PROGRAMS = {
    "auth/client-credentials-basic": {"client_id": "client_id", "client_secret": "client_secret"},
    "auth/client-credentials-jwt": {"client_id": "client_id", "private_key": "private_key_pem", "algorithm": "signing_algorithm"},
    "auth/enterprise-managed-authorization": {"client_id": "client_id", "client_secret": "client_secret", "idp": {
        "token_url": "idp_token_endpoint", "client_id": "idp_client_id", "id_token_file": "idp_id_token"}},
    "auth/wif-jwt-bearer": {"client_id": "client_id", "assertion_file": "valid_jwt"},
}
ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}, "valid_tool": {"region": "us-west1"}}

def official():
    """The scenario as a task, without its steps."""
    login = {"clientMetadata": "https://conformance-test.local/client-metadata.json", "dpop": "auth/dpop" in scenario}
    if scenario == "auth/pre-registration":
        login |= {"clientId": told["client_id"], "clientSecret": told["client_secret"], "issuer": told["issuer"]}
    filled = {"confirmed": True} if scenario == "sep-2322-client-request-state" else {}
    return {"url": sys.argv[-1], "revision": env.get("MCP_CONFORMANCE_PROTOCOL_VERSION") or "2025-11-25",
            "login": login if scenario.startswith("auth/") else None,
            "answers": {"elicit": {"action": "accept", "content": filled}}}

def official_steps():
    """Uses everything that the server lists. What yield returns is the result of the step."""
    yield {"call": "connect"}
    if scenario.startswith("sep-2640"):
        yield from skills()
    elif scenario == "sse-retry":
        yield {"call": "tools/call", "name": "test_reconnection", "arguments": {}}
    else:
        tools = (yield {"call": "tools/list"})["tools"]
        calls = [{"name": tool["name"], "arguments": ARGUMENTS.get(tool["name"], {})} for tool in tools]
        for call in told.get("toolCalls", calls if "no-deref" not in scenario else []):
            if call["name"] == "json_schema_echo":
                call["arguments"] = {"schema": tools[0]["inputSchema"]}
            yield {"call": "tools/call", **call}
        for resource in (yield {"call": "resources/list"})["resources"]:
            yield {"call": "resources/read", "uri": resource["uri"]}
        for prompt in (yield {"call": "prompts/list"})["prompts"]:
            yield {"call": "prompts/get", "name": prompt["name"]}
    yield {"call": "close"}

def skills():
    """Shows the skills. Loads them if the scenario is about that, until a file is not what the list says."""
    for skill in (yield {"call": "skills/list"})["skills"]:
        for file in skill["resources"] if "verify" in scenario else ():
            text = (yield {"call": "resources/read", "uri": file["uri"]})["contents"][0]["text"]
            digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
            described = all(f"{name}: {value}\n" in text for name, value in skill["frontmatter"].items())
            if digest != file["digest"] or not described:
                break

task = json.loads(env["MAINSTAY_CONFORM_TASK"]) if "MAINSTAY_CONFORM_TASK" in env else official()
login, answers = task.get("login"), task.get("answers", {})
revision = "2026-07-28" if task.get("negotiate") else task["revision"]  # a proxy negotiates for stateless hosts
revision = env.get("HOST_REVISION", revision)  # to be of the other era than the server
stateless = revision >= "2026-07-28"
modes = {mode: {} for mode, answer in (("form", "elicit"), ("url", "elicitUrl")) if answer in answers}
declared = {name: {} for name, answer in (("sampling", "sample"), ("roots", "roots")) if answer in answers}
declared |= {"elicitation": modes} if modes else {}
declared |= {"extensions": {RESERVED + "tasks": {}}} if task.get("tasks") and stateless else {}

def program():
    """The file of --auth program, nothing for a person."""
    if login and login.get("flow"):
        return {"client_id": login["clientId"], "client_secret": login.get("clientSecret", ""), "issuer": login.get("issuer", ""),
                "private_key": login.get("privateKey", ""), "algorithm": "ES256", "dpop": login.get("dpop", False)}
    return from_context(PROGRAMS.get(scenario, {}))

def from_context(members):
    return {name: from_context(m) if isinstance(m, dict) else written(name, told[m]) for name, m in members.items()}

def written(name, text):
    """The text, or its file if a file is wanted."""
    if not name.endswith("_file"):
        return text
    with open(os.path.join(home, name), "w") as file:
        file.write(text)
    return file.name

# What stands in the mcp.json.
flags = [] if task.get("negotiate") else ["--protocol-version", task["revision"]]
if login is None:
    flags += ["--auth", "none"]
elif program():
    flags += ["--auth", "program:@" + written("login_file", json.dumps(program()))]
else:
    flags += ["--login", "start"] + ["--dpop"] * bool(login.get("dpop"))
    flags += ["--client-secret-env", "SECRET"] * bool(login.get("clientSecret"))
    for member, flag in (("clientMetadata", "--client-metadata"), ("clientId", "--client-id"), ("issuer", "--issuer")):
        flags += [flag, login[member]] if login.get(member) else []
command = ["mcpctl", "proxy", *flags, *(["--", *task["command"]] if task.get("command") else [task["url"]])]
browser = os.path.dirname(os.path.abspath(__file__))  # xdg-open is there
environment = {**env, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home,
               "PATH": browser + os.pathsep + env["PATH"], "SECRET": (login or {}).get("clientSecret", "")}

class Refused(Exception):
    """An error in place of a result."""

def results(method):
    """The types of results that can be used."""
    return ("complete", "task") if method == "tools/call" and "extensions" in declared else ("complete",)

def answer(method, params):
    """What the person, the model and the host say when the server asks."""
    said = {"ping": {}, "sampling/createMessage": answers.get("sample")}.get(method)
    if method == "roots/list" and "roots" in answers:
        said = {"roots": [{"uri": uri} for uri in answers["roots"]]}
    if method == "elicitation/create" and params.get("mode", "form") in modes:
        said = answers["elicit"] if "requestedSchema" in params else {"action": answers["elicitUrl"]}
    if said is None or "tools" in params:
        return {"error": {"code": -32602 if method.startswith(("elicit", "sampling")) else -32601, "message": "not declared"}}
    if said.get("action") == "accept" and "requestedSchema" in params:
        fields = params["requestedSchema"].get("properties", {}).items()
        defaults = {name: field["default"] for name, field in fields if "default" in field}
        said = {**said, "content": defaults | said.get("content", {})}
    return {"result": said}

schemas = {}  # of the results of tools, by name
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}

def fits(schema, value):
    """Checks types and required members: enough for a person who reads the result."""
    if not isinstance(value, TYPES.get(schema.get("type"), object)) or set(schema.get("required", ())) - set(value):
        return False
    return all(fits(part, value[name]) for name, part in schema.get("properties", {}).items() if name in value)

def served(host, method, family):
    """Reports whether the server declares what a method needs."""
    needed = {"completion": "completions", "subscriptions": "", "skills": ""}.get(family, family)
    return not needed or needed in host.can and (method != "resources/subscribe" or host.can[needed].get("subscribe"))

def do(host, step):
    """Does a step and returns its result."""
    method, family = step["call"], step["call"].split("/")[0]
    bounds = [step[name] / 1000 for name in ("cancelAfterMs", "deadlineMs", "forMs") if name in step]
    how = (bounds or [None])[0], step.get("progress")
    if method == "connect":
        return host.connect(*how)
    if method == "close":
        host.server.stdin.close()
        host.server.wait()
        return None
    if not served(host, method, family):
        if scenario:
            return {family: []}
        raise Refused({"message": "the server did not declare that"})
    if method.endswith("/list"):
        found = host.pages(method, *how)
        if family == "tools":
            schemas.update({tool["name"]: tool.get("outputSchema") for tool in found})
        return {family: found}
    if method == "logging/setLevel" and stateless:
        host.meta[RESERVED + "logLevel"] = step["params"]["level"]
        return None
    params = step.get("params") or {name: step[name] for name in ("name", "uri", "arguments") if name in step}
    if family == "subscriptions" or method == "resources/subscribe":
        uris = [params["uri"]] if "uri" in params else params["notifications"].get("resourceSubscriptions", [])
        return {"notifications": subscribed(host, params, uris, step["forMs"] / 1000)}
    result = host.ask(method, params, *how)
    if result.get("resultType") == "task":
        while result["status"] == "working":
            time.sleep(result["pollIntervalMs"] / 1000)
            result = host.ask("tasks/get", {"taskId": result["taskId"]}, 30)
        result = result["result"]
    schema = schemas.get(step.get("name"))
    if method == "tools/call" and schema and not fits(schema, result.get("structuredContent")):
        raise Refused({"message": "the result does not fit the output schema of the tool"})
    return result

def subscribed(host, params, uris, seconds):
    """Returns what the server tells during some seconds, asked for in the way of the host's era."""
    start = len(host.heard)
    if stateless:
        try:
            host.ask("subscriptions/listen", params if "uri" not in params else {"notifications": {"resourceSubscriptions": uris}}, seconds)
        except queue.Empty:
            pass  # it was canceled
    else:
        for uri in uris:
            host.ask("resources/subscribe", {"uri": uri}, 30)
        time.sleep(seconds)
        for uri in uris:
            host.ask("resources/unsubscribe", {"uri": uri}, 30)
    return [n for n in host.heard[start:] if not n["method"].endswith("/acknowledged")]

def play(host, number, step, n=0):
    """Does a step and prints its line."""
    line = {"step": number, "n": n, "outcome": "result"}
    try:
        line["result"] = do(host, step)
        if (line["result"] or {}).get("isError"):
            # What failed on the way looks like an error of the tool, for models, and says more to programs.
            failure = line["result"].get("_meta", {}).get("io.github.mainstay-mcp/failure")
            line |= {"outcome": "error", "delivery": failure["delivery"]} if failure else {"outcome": "tool-error"}
    except queue.Empty:
        line["outcome"] = "canceled" if "cancelAfterMs" in step else "timeout"
    except Exception as why:
        error = why.args[0] if isinstance(why, Refused) else {"message": repr(why)}
        line |= {"outcome": "error", **{name: error[name] for name in ("code", "message") if name in error}}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    return line

def acts(host):
    """Does everything, and ends: with 1 if a step of a scenario had no result."""
    if scenario:
        steps, line = official_steps(), {"outcome": "result"}
        try:
            while line["outcome"] == "result":
                line = play(host, 0, steps.send(line.get("result")))
        except StopIteration:
            pass
        sys.exit(line["outcome"] != "result")
    for number, step in enumerate(task["steps"]):
        if not step.get("times"):
            play(host, number, step)
            continue
        with ThreadPoolExecutor(step["times"]) as pool:
            for n in range(step["times"]):
                pool.submit(play, host, number, {**step, "arguments": {**step.get("arguments", {}), "n": n}}, n)
