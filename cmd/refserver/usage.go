package main

const usage = `usage: refserver [flags]

The reference MCP server, over stdin and stdout or, with --http, over
streamable HTTP: all families at /mcp, each one alone at /mcp/FAMILY. Logs are
JSON lines on stderr. SIGINT and SIGTERM let running calls end first.

serving:
  --http ADDR         serve HTTP on ADDR, such as 127.0.0.1:8090 (port 0: a free one);
                      without a host only this machine is served
  --sse               with --http: serve the old HTTP+SSE transport at /sse, too
  --families LIST     the tool families to serve, comma separated (default: %s;
                      with --http also the fixtures of the official conformance suite)
  --allow-host NAMES  host names accepted in Host and Origin besides this machine's own
  --token TOKEN       ask every HTTP request for this bearer token; better given by
  REFSERVER_TOKEN     the variable, which does not show in the list of processes
  --debug             log at debug level

data:
  --data DIR          keep data in DIR (default: a temporary folder, removed at the end)
  --durable           wait for the disk at every commit (SQLite)
  DATABASE_URL        the PostgreSQL database for tasks, ids and generated artifacts
                      (default: an SQLite file in DIR)

artifact:
  ARTIFACTS_BASE_DIR        where artifacts are stored (default: DIR/artifacts)
  VALIDATION_RESOURCES_DIR  where validate_artifact finds its checklists (default: built in)
  TASK_TRACKING_API_URL     the Task Tracking service (default: started with the server)
  ID_MANAGEMENT_API_URL     the ID Management service (default: started with the server)
  --tasks-addr ADDR         what a started Task Tracking service listens on, such as
                            127.0.0.1:8080 (default: a free port of this machine)
  --ids-addr ADDR           the same for ID Management, such as 127.0.0.1:8081
  API_KEY                   the key of both services
  PROJECT_ID                the project of approvals (default: ai-agent-mcp-server)
  RESERVATION_EXPIRATION_MINUTES  how long a range of ids is held (default: 15)
  --plural-dirs             store in prds and not in prd; artifacts are found in either
  RESEARCH_DIR              the research documents (default: research below the artifacts)
  --deprecated              serve resolve_artifact_path too

coe:
  --coe-next-task SHAPE     the answer of getNextTask: enhanced (default), implemented, legacy
  --with-orchestrator=false let getNextTask answer ORCHESTRATOR_NOT_INITIALIZED
  --rate-limits on|off|N    the limits of S1 (default), none, or N calls a minute and agent
  --coe-permission AGENT=P  what an agent may do: read-only or write; * is every other
                            agent; may be repeated (default: everything)
  --coe-admin               serve clearQueue and resetPlan
  COE_TOKEN_LIMIT           the token limit of questions (default: 5000)

docling:
  DOCLING_INPUT_ROOTS       the folders file_path may point into, separated as in PATH
                            (default: none; files then come as content_base64)
  --docling-allow-network NET  a network such as 127.0.0.0/8 that convert_url may reach
                            although it is not public; may be repeated
  --docling-max-result MIB  the largest document that is answered, in MiB of JSON, of which an
                            answer has two (default: what a message of 16 MiB holds)
  --docling-version V       the version of the schema that documents claim, such as 1.3.0,
                            for readers that know no later one (default: 1.10.0)

preflights:
  --work-dir DIR            where the repository is sought when a call names none
                            (default: an empty one in the data folder)
  PREFLIGHTS_LLM_PROVIDER   mock (default), anthropic, openai or openrouter
  PREFLIGHTS_LLM_MODEL      the model of the provider; its key is in the variable that
                            the provider's own programs read
  PREFLIGHTS_LLM_BASE_URL   another address of the provider

assistant:
  --assistant-program PATH  the command-line agent that answers chats (default: a scripted one)
  --assistant-model MODEL   the model it uses
  --assistant-session-token TOKEN  a session token for save_artifact that is always valid,
  REFSERVER_SESSION_TOKEN   for tests from outside (default: none)

testing:
  --allow-fault-injection   serve _test/inject, which makes tools fail on purpose,
                            and _test/reset, which empties the coe database
  --fault FAULT             arm a fault from the start, such as
                            tool=createTicket,kind=db_locked,times=3; may be repeated
`
