"""A host of MCP, from the specification alone, for which user.py decides everything that a person does."""
import itertools, json, queue, subprocess, sys, threading, user

ids, waiting, heard, can, lock = itertools.count(1), {}, [], {}, threading.Lock()
own = {"protocolVersion": user.revision, "clientInfo": {"name": "host", "version": "1"}}
meta = {user.RESERVED + key: value for key, value in {**own, "clientCapabilities": user.declared}.items() if user.stateless}
server = subprocess.Popen(user.command, env=user.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def send(**message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)

def listen():
    for message in map(json.loads, server.stdout):
        if "method" not in message:
            waiting.pop(message["id"], queue.Queue()).put(message)
        elif "id" in message:
            send(id=message["id"], **user.answer(message["method"], message.get("params", {})))
        else:
            heard.append(message)
    for box in list(waiting.values()):
        box.put({"error": {"message": "the server has ended"}})

def request(method, params, bound=None, progress=False):
    number = next(ids)
    box, more = waiting.setdefault(number, queue.Queue()), {**meta, "progressToken": number} if progress else meta
    send(id=number, method=method, params={**params, "_meta": more} if more else params)
    try:
        return box.get(timeout=bound)
    except queue.Empty:
        send(method="notifications/cancelled", params={"requestId": number})
        raise

def ask(method, params, *how, rounds=20, said={}):
    answer = request(method, {**params, **said}, *how)
    result = answer.get("result", {"resultType": "error"})
    if result.get("resultType") == "input_required" and method in user.ASKS and rounds:
        said = {"requestState": result["requestState"]} if "requestState" in result else {}
        for key, asked in result.get("inputRequests", {}).items():
            reply = user.answer(asked["method"], asked.get("params", {}))["result"]
            said.setdefault("inputResponses", {})[key] = reply
        return ask(method, params, *how, rounds=rounds - 1, said=said)
    if result.get("resultType", "complete") not in user.results(method):
        raise user.Refused(answer.get("error", {"message": "this is no result of " + method}))
    return result

def pages(method, *how, cursors=(None,)):
    page, name = ask(method, {"cursor": cursors[-1]} if cursors[1:] else {}, *how), method.split("/")[0]
    if page.get("nextCursor") in cursors:  # there is none, or it goes round in a circle
        return page[name]
    return page[name] + pages(method, *how, cursors=(*cursors, page["nextCursor"]))

def connect(*how):
    opening = {} if meta else {**own, "capabilities": user.declared}
    can.update(ask("server/discover" if meta else "initialize", opening, *how)["capabilities"])
    if not meta:
        send(method="notifications/initialized")

threading.Thread(target=listen, daemon=True).start()
user.acts(sys.modules[__name__])
