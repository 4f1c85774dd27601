package main

const usage = `usage: refserver [flags]

The reference MCP server. It serves stdin and stdout, or streamable HTTP with
--http: all tool families at /mcp, and each family at /mcp/FAMILY. Logs are JSON
lines on stderr. On SIGINT and SIGTERM it finishes running calls, then exits.

serving:
  --http ADDR         serve HTTP on ADDR, such as 127.0.0.1:8090 (port 0: any free port);
                      without a host, only on 127.0.0.1
  --sse               with --http: also serve the old HTTP+SSE transport at /sse
  --families LIST     tool families to serve, separated by commas (default: %s;
                      with --http also fixtures, for the official conformance suite,
                      and skills)
  --allow-host NAMES  host names to accept in Host and Origin, besides local ones
  --session-idle D    how long an HTTP session may be unused before it ends, such as 5s
                      (default: 30m)
  --token TOKEN       require this bearer token in every HTTP request
  REFSERVER_TOKEN     the same token; unlike the flag, process lists do not show it
  --oauth-issuer URL  require access tokens (JWT) of this authorization server in every HTTP
                      request; https, or http on this machine
  --oauth-resource URL  the URL of this server, for which tokens are issued (default:
                      http://ADDR/mcp)
  --oauth-scope S     a scope that every request needs; repeatable
  --oauth-tool-scope TOOL=S  a scope that calls of this tool need besides; repeatable
  --login NAMES       start an authorization server beside, at /login, for trying out logins:
                      its page has a button for each of these users, separated by commas,
                      such as demo; only on this machine
  --login-lifetime D  lifetime of its access tokens, such as 10s (default: 5m)
  --debug             log at debug level

data:
  --data DIR          folder for data (default: a temporary folder, removed at exit, or by
                      the next server if this one is killed)
  --durable           sync to disk at every commit (SQLite)
  DATABASE_URL        PostgreSQL database for tasks, ids and generated artifacts
                      (default: an SQLite file in DIR)

artifact:
  ARTIFACTS_BASE_DIR        folder of the artifacts (default: DIR/artifacts)
  VALIDATION_RESOURCES_DIR  folder of the checklists of validate_artifact (default: built in)
  TASK_TRACKING_API_URL     Task Tracking service (default: started with the server)
  ID_MANAGEMENT_API_URL     ID Management service (default: started with the server)
  --tasks-addr ADDR         address for a Task Tracking service that is started here, such
                            as 127.0.0.1:8080 (default: a free local port)
  --ids-addr ADDR           the same for ID Management, such as 127.0.0.1:8081
  API_KEY                   API key of both services
  PROJECT_ID                project of approvals (default: ai-agent-mcp-server)
  RESERVATION_EXPIRATION_MINUTES  minutes until reserved ids expire (default: 15)
  --plural-dirs             store in folders such as prds instead of prd; both are searched
  RESEARCH_DIR              folder of the research documents (default: research in the
                            artifacts folder)
  --undo-approvals          also serve undo_approval, while nothing came of the approval
  --deprecated              also serve resolve_artifact_path

coe:
  --coe-plan PATH           plan to work on: a JSON or Markdown file, or a folder of them
                            (default: a sample plan)
  --coe-knowledge PATH      documents that questions are answered from: a Markdown, text or
                            JSON file, or a folder of them (default: those of the sample)
  --coe-next-task SHAPE     form of the getNextTask result: enhanced (default),
                            implemented or legacy
  --with-orchestrator=false make getNextTask fail with ORCHESTRATOR_NOT_INITIALIZED
  --rate-limits on|off|N    the default limits, none, or N calls per minute and agent
  --coe-permission AGENT=P  permission of an agent: read-only or write; * is every other
                            agent; repeatable (default: every tool is allowed)
  --coe-admin               serve clearQueue and resetPlan
  COE_TOKEN_LIMIT           token limit of questions (default: 5000)

docling:
  DOCLING_INPUT_ROOTS       folders that file_path may name files in, separated as in PATH
                            (default: none; send files as content_base64)
  --docling-allow-network NET  private network that convert_url may reach, such as
                            127.0.0.0/8; repeatable
  --docling-max-result MIB  largest document to return, in MiB of JSON; a result holds it
                            twice (default: what fits a message of 16 MiB)
  --docling-version V       schema version to write into documents, such as 1.3.0, for
                            readers of older versions (default: 1.10.0)

preflights:
  --work-dir DIR            repository of calls that name none (default: an empty one in
                            the data folder); "." is the one the server is started in
  --repos DIR               folder below which calls may name repositories by repo_path;
                            repeatable (default: with --http none but that of --work-dir,
                            over stdio any)
  PREFLIGHTS_LLM_PROVIDER   mock (default), anthropic, openai or openrouter
  PREFLIGHTS_LLM_MODEL      model of the provider; the API key is in the provider's usual
                            variable, such as OPENAI_API_KEY
  PREFLIGHTS_LLM_BASE_URL   another base URL of the provider

assistant:
  --assistant-program PATH  command-line agent that answers chats (default: a scripted one)
  --assistant-model MODEL   model of the agent (default: the agent's own choice)
  --assistant-session-token TOKEN  session token that save_artifact always accepts, for
                            external tests (default: none)
  REFSERVER_SESSION_TOKEN   the same token; unlike the flag, process lists do not show it

skills:
  --skills DIR              folder of skills to serve, each a folder with a SKILL.md, or
                            deeper (default: two samples)

testing:
  --allow-fault-injection   serve _test/inject, which makes tools fail, and _test/reset,
                            which empties the coe database
  --fault FAULT             inject a fault from the start, such as
                            tool=createTicket,kind=db_locked,times=3; repeatable. TOOL is a
                            coe tool or *, times is 1 unless set (0: every time), kind is
                            delay (with delay=300ms), internal, panic, unavailable,
                            db_locked, db_down or unblock (second step of a task's end)
`
