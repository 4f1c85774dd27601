#!/usr/bin/env bash
# Logins at a real authorization server (npm oidc-provider) in front of the reference
# server, both on this machine: with mcpctl, and with the programs of examples/auth and
# examples/auth-machine. The person is a script that goes through the pages of the
# authorization server (scripts/auth/person.mjs), and once a Chromium. Then a server of
# the official TypeScript SDK, which brings its own authorization server.
# Exit 0: all as expected; 1: something was not; 75: the packages could not be installed,
# nothing is known. Without a Chromium (CHROMIUM names it, else it is looked for) a NOTE
# says what was left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PROVIDER=9.13.3
PLAYWRIGHT=1.65.1
TYPESCRIPT=1.32.2
NODE_MAJOR=22 # the provider supports no older one
. scripts/npm.sh
READS=test_simple_text WRITES=test_image_content # tools: the second needs one more scope

work=$(mktemp -d)
cache=${MAINSTAY_AUTH_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-auth/$PROVIDER-$PLAYWRIGHT-$TYPESCRIPT}
servers=()
failed=0

finish() {
	local rc=$? pid
	set +e
	for pid in "${servers[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$work"
	exit "$rc"
}
trap finish EXIT

# The packages stay in the cache: the next run needs no registry.
install_packages() {
	npm_packages "oidc-provider@$PROVIDER" "playwright-core@$PLAYWRIGHT" "@modelcontextprotocol/sdk@$TYPESCRIPT" || return 1
	find_node || return 1
	cp scripts/auth/*.mjs "$work/"
	ln -s "$cache/node_modules" "$work/node_modules"
}

# expect NAME EXIT PATTERN… -- COMMAND…: runs the command for at most 60 s and
# looks at its exit code, and for every pattern (fixed text) in its output.
expect() {
	local name=$1 want=$2 patterns=() rc=0 missing=() p
	shift 2
	while [[ $1 != -- ]]; do
		patterns+=("$1")
		shift
	done
	shift
	timeout -k 5 60 "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
	for p in "${patterns[@]}"; do
		grep -qF -- "$p" "$work/out" "$work/err" || missing+=("$p")
	done
	if ((rc == want && ${#missing[@]} == 0)); then
		echo "ok    $name"
		return
	fi
	failed=1
	echo "FAIL  $name: exit $rc, want $want${missing[*]+; not in the output: ${missing[*]}}"
	echo "      $*"
	head -c 2000 "$work/out" | sed 's/^/      out: /'
	head -c 4000 "$work/err" | sed 's/^/      err: /'
}

# mark begins to count events of the authorization server.
mark() { marked=$(wc -l <"$events"); }

# happened NAME COUNT FILTER: so many events e since the mark fit the filter.
happened() {
	local name=$1 want=$2 filter=$3 found
	found=$(tail -n "+$((marked + 1))" "$events" | "$node" -e '
		const fits = new Function("e", `return ${process.argv[1]}`);
		const lines = require("fs").readFileSync(0, "utf8").split("\n").filter(Boolean);
		console.log(lines.filter((line) => fits(JSON.parse(line))).length);' "$filter")
	if [[ $found == "$want" ]]; then
		echo "ok    $name"
		return
	fi
	failed=1
	echo "FAIL  $name: $found events, want $want, with $filter in"
	tail -n "+$((marked + 1))" "$events" | sed 's/^/      /'
}

# lifetimes COUNT SECONDS: the next access tokens live so long, all others an hour.
lifetimes() { curl -fsS -X POST "$issuer/control/short?count=$1&seconds=$2"; }

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# answers PORT PID: until that process listens there, at most 20 s.
answers() {
	local i
	for i in $(seq 200); do
		kill -0 "$2" 2>/dev/null || return 1
		if listening "$1"; then return; fi
		sleep 0.1
	done
	return 1
}

# await PATTERN FILE: until a line fits, at most 20 s.
await() {
	local i
	for i in $(seq 200); do
		if grep -q "$1" "$2"; then return; fi
		sleep 0.1
	done
	cat "$2"
	return 1
}

start() {
	local log=$work/refserver.log
	"$node" -e '
		const { generateKeyPairSync, randomBytes } = require("crypto");
		const { writeFileSync } = require("fs");
		const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
		process.chdir(process.argv[1]);
		writeFileSync("key.pem", privateKey.export({ format: "pem", type: "pkcs8" }));
		writeFileSync("public.pem", publicKey.export({ format: "pem", type: "spki" }));
		writeFileSync("secret", randomBytes(24).toString("base64url"));' "$work"
	"$node" "$work/provider.mjs" "$work/public.pem" "$work/secret" >"$events" 2>"$work/provider.log" </dev/null &
	servers+=($!)
	if ! await '"listening"' "$events"; then
		cat "$work/provider.log"
		return 1
	fi
	issuer=$(sed -n 's/.*"listening","url":"\([^"]*\)".*/\1/p' "$events")
	"$refserver" --http 127.0.0.1:0 --families fixtures --oauth-issuer "$issuer" --oauth-scope mcp:read \
		--oauth-tool-scope "$WRITES=mcp:write" >"$log" 2>&1 </dev/null &
	servers+=($!)
	await '"listening"' "$log" || return 1
	url=$(sed -n 's/.*"event":"listening","url":"\([^"]*\)".*/\1/p' "$log")
	curl -fsS -X POST "$issuer/control/resource?url=$url"
}

# login NAME FLAG…: somebody without a browser on this machine logs in with mcpctl.
login() {
	local name=$1
	shift
	expect "$name: the page" 4 "auth login" "--finish @-" -- "$node" "$work/person.mjs" elsewhere "$mcpctl" auth login "$@" "$url"
	expect "$name: the address where the browser ended" 0 "logged in to mainstay-refserver" -- "$mcpctl" auth login --finish "@$ADDRESS" "$@" "$url"
}

by_hand() {
	mark
	expect "nobody is logged in" 4 "mcpctl auth login $url" -- "$mcpctl" call "$url" "$READS"
	expect "inspect" 0 "A login would work" "it registers itself at $issuer/reg" "mcp:read offline_access" -- "$mcpctl" auth inspect "$url"
	expect "no token" 4 "mcpctl auth login $url" -- "$mcpctl" auth token "$url"
	happened "inspecting registers nobody" 0 'e.event === "registered"'

	login "login"
	expect "call" 0 "simple text" -- "$mcpctl" call "$url" "$READS"
	expect "call in the session era" 0 "simple text" -- "$mcpctl" --era session call "$url" "$READS"
	printf '{"mcpServers": {"real": {"url": "%s"}}}' "$url" >"$work/servers.json"
	expect "a server of a file" 0 "simple text" -- "$mcpctl" call "$work/servers.json#real" "$READS"
	expect "the suite with the stored token" 0 "passed" "✓ MUST   AUTH-02/query" -- "$mcpctl" conform server "$url" --only 'TOOL-01*' --only 'AUTH-*' -v
	expect "the suite without it" 4 "mcpctl auth login $url" -- "$mcpctl" --auth none conform server "$url" --only 'TOOL-01*'
	expect "ls" 0 "$url" "$issuer" "valid for" -- "$mcpctl" auth ls
	expect "no credentials" 4 -- "$mcpctl" --auth none call "$url" "$READS"
	expect "another profile" 4 -- "$mcpctl" --auth profile:other call "$url" "$READS"
	happened "the program registered itself once" 1 'e.event === "registered" && e.type === "native" && e.name === "mcpctl"'
	happened "one token, for this server" 1 "e.event === 'token' && e.grant === 'authorization_code' && e.resource === '$url'"
	happened "nothing was refused" 0 'e.event === "refused"'
}

at_a_terminal() {
	local opened=$work/opened
	if ! script --version 2>/dev/null | grep -q util-linux; then
		echo "NOTE: no script of util-linux: mcpctl was NOT run at a terminal"
		return
	fi
	rm -f "$opened"
	expect "at a terminal: login" 0 "logged in to" "the last page answers 200" -- \
		"$node" "$work/person.mjs" walk script -qefc "$mcpctl auth login $url" /dev/null
	expect "at a terminal: a browser was opened" 0 "$issuer/auth?" -- cat "$opened"
	expect "at a terminal: paste the address" 0 "logged in to" -- \
		"$node" "$work/person.mjs" paste script -qefc "$mcpctl auth login --no-browser $url" /dev/null
	expect "at a terminal: access denied" 4 access_denied -- \
		"$node" "$work/person.mjs" refuse script -qefc "$mcpctl auth login $url" /dev/null
	expect "the login before is still good" 0 "simple text" -- "$mcpctl" call "$url" "$READS"
}

# expiry NAME FLAG…: two tokens in turn live two seconds.
expiry() {
	local name=$1
	shift
	mark
	lifetimes 2 2
	login "$name" "$@"
	sleep 2
	expect "$name: four calls at once" 0 "simple text" -- bash -c '
		for _ in 1 2 3 4; do "$@" & pids+=($!); done
		for pid in "${pids[@]}"; do wait "$pid" || exit; done' call "$mcpctl" call "$url" "$READS"
	sleep 2
	expect "$name: a call" 0 "simple text" -- "$mcpctl" call "$url" "$READS"
	expect "$name: one more" 0 "simple text" -- "$mcpctl" call "$url" "$READS"
	happened "$name: one refresh for each expiry" 2 'e.event === "token" && e.grant === "refresh_token"'
	happened "$name: each refresh token was used once, and replaced" 2 'e.event === "refresh token used"'
	happened "$name: nothing was refused" 0 'e.event === "refused" && e.error !== "use_dpop_nonce"'
	happened "$name: one login" 1 'e.event === "authorized"'
}

revocation() {
	mark
	lifetimes 1000 2
	login "revocation"
	curl -fsS -X POST "$issuer/control/revoke"
	sleep 2
	expect "revocation: the next call" 4 "your login has ended" "invalid_grant" "mcpctl auth login $url" -- "$mcpctl" call "$url" "$READS"
	happened "revocation: a refresh was tried once" 1 'e.event === "refused" && e.grant === "refresh_token" && e.error === "invalid_grant"'
	expect "revocation: one more call" 4 "mcpctl auth login $url" -- "$mcpctl" call "$url" "$READS"
	happened "revocation: and not again" 1 'e.event === "refused"'
	lifetimes 0 0
	login "revocation: again"
	expect "revocation: a call after that" 0 "simple text" -- "$mcpctl" call "$url" "$READS"
}

step_up() {
	local scope
	mark
	expect "step-up: a tool that needs one more scope" 4 "mcpctl auth login --scope" "$url" -- "$mcpctl" call "$url" "$WRITES"
	scope=$(sed -n 's/.*mcpctl auth login --scope \([^ ]*\) .*/\1/p' "$work/err")
	login "step-up" --scope "$scope"
	happened "step-up: the person was asked for both scopes" 1 "e.event === 'asked' && e.prompt === 'consent' && $both"
	expect "step-up: the tool" 0 image/png -- "$mcpctl" call "$url" "$WRITES"
}

logout() {
	mark
	expect "logout" 0 "logged out of $url" -- "$mcpctl" auth logout "$url"
	happened "logout: the authorization server took the grant back" 1 'e.event === "revoked"'
	expect "logout: the next call" 4 "mcpctl auth login $url" -- "$mcpctl" call "$url" "$READS"
	expect "logout: nothing is left" 0 "nobody is logged in" -- "$mcpctl" auth ls
}

dpop() {
	expiry "DPoP" --dpop
	happened "DPoP: all tokens are bound" 0 'e.event === "token" && e.type !== "DPoP"'
	"$mcpctl" auth token "$url" >"$work/stolen"
	expect "DPoP: a stolen token is of no use" 4 -- "$mcpctl" --auth "bearer:@$work/stolen" call "$url" "$READS"
	login "DPoP: a login without it"
	expect "DPoP: a call without it" 0 "simple text" -- "$mcpctl" call "$url" "$READS"
	"$mcpctl" auth token "$url" >"$work/token"
	expect "a token of another program" 0 "simple text" -- "$mcpctl" --auth "bearer:@$work/token" call "$url" "$READS"
}

program() {
	mark
	expect "examples/auth: login, and another one for the tool" 0 "$READS" "the last page answers 200" -- \
		"$node" "$work/person.mjs" walk "$work/bin/auth" "$url" "$WRITES" '{}'
	happened "examples/auth: the person was asked for one scope" 1 'e.event === "authorized" && e.scope === "mcp:read offline_access"'
	happened "examples/auth: and for both" 1 "e.event === 'authorized' && $both"
	expect "examples/auth: the next run asks nobody" 0 "simple text" -- "$work/bin/auth" "$url" "$READS" '{}'
	happened "examples/auth: two logins" 2 'e.event === "authorized"'
	happened "examples/auth: one registration" 1 'e.event === "registered"'
}

# clients: those that need no registration.
clients() {
	local at=https://client.example/mcpctl.json
	mark
	login "client metadata" --profile documented --client-metadata "$at"
	expect "client metadata: call" 0 "simple text" -- "$mcpctl" --auth profile:documented call "$url" "$READS"
	happened "client metadata: the document was the client" 1 "e.event === 'token' && e.client === '$at'"
	login "client id" --profile known --client-id known --issuer "$issuer"
	expect "client id: call" 0 "simple text" -- "$mcpctl" --auth profile:known call "$url" "$READS"
	happened "client id: a client that the operator registered" 1 'e.event === "token" && e.client === "known"'
	happened "nobody was registered" 0 'e.event === "registered"'
}

# platform AUDIENCE: the token that a platform gives the program.
platform() {
	(cd "$work" && "$node" --input-type=module -e '
		import { SignJWT } from "jose";
		import { createPrivateKey } from "node:crypto";
		import { readFileSync, writeFileSync } from "node:fs";
		const token = new SignJWT({}).setProtectedHeader({ alg: "ES256" }).setIssuer("https://platform.example")
			.setSubject("pod").setAudience(process.argv[1]).setIssuedAt().setExpirationTime("10m");
		writeFileSync("token", await token.sign(createPrivateKey(readFileSync("key.pem"))) + "\n");' "$1")
}

machines() {
	local secret
	secret=$(<"$work/secret")
	export MCP_ISSUER=$issuer
	mark
	expect "client credentials" 0 "simple text" -- \
		env MCP_CLIENT_ID=robot "MCP_CLIENT_SECRET=$secret" "$work/bin/auth-machine" "$url" "$READS" '{}'
	expect "client credentials: a wrong secret" 1 invalid_client -- \
		env MCP_CLIENT_ID=robot MCP_CLIENT_SECRET=wrong "$work/bin/auth-machine" "$url" "$READS" '{}'
	expect "client credentials: another issuer" 1 "belongs to" -- \
		env MCP_ISSUER=https://other.example MCP_CLIENT_ID=robot "MCP_CLIENT_SECRET=$secret" "$work/bin/auth-machine" "$url" "$READS" '{}'
	expect "private key" 0 "simple text" -- \
		env MCP_CLIENT_ID=keyed "MCP_CLIENT_KEY=$work/key.pem" "$work/bin/auth-machine" "$url" "$READS" '{}'
	platform "$issuer"
	expect "workload" 0 "simple text" -- \
		env MCP_CLIENT_ID=pod "MCP_CLIENT_TOKEN=$work/token" "$work/bin/auth-machine" "$url" "$READS" '{}'
	platform https://other.example
	expect "workload: a token for somebody else" 1 invalid_grant -- \
		env MCP_CLIENT_ID=pod "MCP_CLIENT_TOKEN=$work/token" "$work/bin/auth-machine" "$url" "$READS" '{}'
	expect "private key: a tool that needs one more scope" 0 -- \
		env MCP_CLIENT_ID=keyed "MCP_CLIENT_KEY=$work/key.pem" "$work/bin/auth-machine" "$url" "$WRITES" '{}'
	happened "three tokens with the first scope" 3 'e.event === "token" && e.grant === "client_credentials" && e.granted === "mcp:read"'
	happened "one token with both" 1 "e.event === 'token' && e.client === 'keyed' && $both"
	happened "one token for that of the platform" 1 'e.event === "token" && e.client === "pod" && e.granted === "mcp:read"'
	happened "one refusal of a secret" 1 'e.event === "refused" && e.client === "robot" && e.error === "invalid_client"'
	happened "one refusal of a token of the platform" 1 'e.event === "refused" && e.client === "pod" && e.error === "invalid_grant"'
	unset MCP_ISSUER
}

# typescript: another server with another authorization server, whose tokens are no JWTs.
typescript() {
	local port at pid
	for _ in 1 2 3 4 5; do # it cannot choose its ports, and others may take them
		port=$((20000 + RANDOM % 12000)) # Linux takes those above 32768 for outgoing connections
		MCP_PORT=$port MCP_AUTH_PORT=$((port + 1)) "$node" \
			"$cache/node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js" --oauth --oauth-strict \
			>"$work/typescript.log" 2>&1 </dev/null &
		pid=$!
		servers+=("$pid")
		if answers "$port" "$pid"; then break; fi
	done
	at=http://localhost:$port/mcp
	expect "TypeScript SDK: inspect" 0 "A login would work" -- "$mcpctl" auth inspect "$at"
	expect "TypeScript SDK: nobody is logged in" 4 "mcpctl auth login $at" -- "$mcpctl" call "$at" greet name=Ada
	expect "TypeScript SDK: the page" 4 "--finish @-" -- "$node" "$work/person.mjs" elsewhere "$mcpctl" auth login "$at"
	expect "TypeScript SDK: the address" 0 "logged in to simple-streamable-http-server" -- "$mcpctl" auth login --finish "@$ADDRESS" "$at"
	expect "TypeScript SDK: call" 0 "Hello, Ada!" -- "$mcpctl" call "$at" greet name=Ada
	expect "TypeScript SDK: examples/auth" 0 "Hello, Ada!" -- \
		"$node" "$work/person.mjs" walk "$work/bin/auth" "$at" greet '{"name": "Ada"}'
	expect "TypeScript SDK: logout" 0 "logged out of" -- "$mcpctl" auth logout "$at"
	expect "TypeScript SDK: the next call" 4 "mcpctl auth login $at" -- "$mcpctl" call "$at" greet name=Ada
}

browser() {
	export CHROMIUM
	CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
	if [[ -z $CHROMIUM ]]; then
		echo "NOTE: no Chromium: no real browser was tried"
		return
	fi
	expect "in Chromium" 0 "consent to" "mcp:read" "the browser shows: The program has the answer" "simple text" -- \
		env "XDG_CONFIG_HOME=$work/another" "HOME=$work/another" "$node" "$work/person.mjs" browser "$work/bin/auth" "$url" "$READS" '{}'
}

# down: the authorization server is gone, and a token has to be renewed.
down() {
	lifetimes 1000 1
	login "down"
	kill "${servers[0]}"
	wait "${servers[0]}" 2>/dev/null || true
	sleep 1
	expect "down: call" 4 "the authorization server does not answer" "mcpctl auth inspect $url" -- "$mcpctl" call "$url" "$READS"
	expect "down: inspect" 3 "The authorization server does not answer" -- "$mcpctl" auth inspect "$url"
	expect "down: nobody is logged out by that" 0 "$url" -- "$mcpctl" auth ls
}

if ! install_packages; then
	echo "################################################################"
	echo "The authorization server could not be installed (no npm, or the"
	echo "registry is unreachable). NOTHING was checked."
	echo "################################################################"
	exit 75
fi
mkdir "$work/bin" "$work/path"
go build -o "$work/bin/" ./cmd/mcpctl ./cmd/refserver ./examples/auth ./examples/auth-machine
mcpctl=$work/bin/mcpctl
refserver=$work/bin/refserver
events=$work/events
both='["mcp:read", "mcp:write"].every((s) => e.scope.split(" ").includes(s))'
export ADDRESS=$work/address
export MCPCTL_AUTH_DIR=$work/tokens XDG_CONFIG_HOME=$work/config HOME=$work
# What a program finds to open a browser with: it only writes down the page.
for opener in xdg-open open; do
	printf '#!/bin/sh\necho "$1" >>"%s/opened"\n' "$work" >"$work/path/$opener"
	chmod +x "$work/path/$opener"
done
export PATH=$work/path:$PATH

start
by_hand
at_a_terminal
expiry "expiry"
revocation
step_up
logout
dpop
clients
program
machines
browser
typescript
down
if grep -q '"server error"' "$events"; then
	echo "FAIL  the authorization server had errors:"
	grep '"server error"' "$events"
	failed=1
fi
for word in $(cat "$work/secret") eyJ; do
	if grep -rlF -- "$word" "$work/refserver.log" "$events" "$work/provider.log"; then
		echo "FAIL  a secret is in a log"
		failed=1
	fi
done
exit "$failed"
