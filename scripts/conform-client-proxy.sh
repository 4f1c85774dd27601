#!/usr/bin/env bash
# "mcpctl conform client" against a host before "mcpctl proxy" (interop/host), and against our
# client (interop/officialclient/taskclient), over HTTP and stdio. Both are judged strictly, and
# each check must end as it does with the client. Then the host is of the other era than the server:
# what it cannot say is listed here.
#   conform-client-proxy.sh [http|stdio]   one transport; both without an argument
# Exit 0: every check passes or is skipped, and ends alike; 1: one does not; 2: bad argument; 75:
# there is no Python, nothing is known.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-both} in
both) transports=(http stdio) ;;
http | stdio) transports=("$1") ;;
*)
	echo "conform-client-proxy.sh [http|stdio], not $1" >&2
	exit 2
	;;
esac
if ! command -v python3 >/dev/null; then
	echo "There is no python3. NOTHING was judged."
	exit 75
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# judge NAME TRANSPORT FLAG… -- COMMAND…: one run; its report is $work/NAME.json. A proxy has one
# server, so nothing is played with two.
judge() {
	local name=$1 transport=$2
	shift 2
	"$work/mcpctl" conform client --strict --skip C-TWO-SERVERS --skip C-ONE-ISSUER --transport "$transport" --report "json=$work/$name.json" "$@" >"$work/$name.log" 2>&1 </dev/null && return
	echo "FAIL  $name over $transport:"
	grep -A 3 '^[✗!?]' "$work/$name.log" || tail -n 5 "$work/$name.log"
	return 1
}

# compare TRANSPORT: prints one line, and the checks that end in another way.
compare() {
	python3 - "$1" "$work/client.json" "$work/proxy.json" <<'END'
import json, sys
transport, *files = sys.argv[1:]
client, proxy = ({(c["revision"], c["id"]): c["status"] for c in json.load(open(f))["checks"]} for f in files)
differ = [(*c, client[c], proxy.get(c)) for c in client if client[c] != proxy.get(c)]
passed = [sum(status == "pass" for status in one.values()) for one in (client, proxy)]
print(f"{'FAIL ' if differ else 'ok   '} conform client, {transport}: {passed[1]} checks passed before the proxy, {passed[0]} with the client")
for revision, check, direct, behind in differ:
    print(f"      {check} at {revision}: {behind}, with the client {direct}")
sys.exit(bool(differ))
END
}

# What does not hold for a host of the other era, by the transport and the revision of the server.
filter="C-CHG-03/filter # a session host has no filter: the proxy listens for all its lists"
level="C-LOG-01/level # a stateless host names the level in its next request, and there is none"
declare -A known=(
	[http 2026-07-28]="$filter
C-CHG-07/ends # the session, and with it the subscription, stays when the host leaves"
	[stdio 2026-07-28]="$filter"
	[http 2025-11-25]="$level"
	[stdio 2025-11-25]="$level"
)

# other_era TRANSPORT REVISION HOST: judges a host of the revision HOST before a server of REVISION.
other_era() {
	echo "${known[$1 $2]}" >"$work/known"
	HOST_REVISION=$3 judge "other" "$1" --spec "$2" --known-failing "$work/known" -- python3 interop/host/host.py || return 1
	echo "ok    conform client, $1: $(tail -n 2 "$work/other.log" | head -n 1), with a host of $3 before a server of $2"
}

go build -o "$work/mcpctl" ./cmd/mcpctl
(cd interop/officialclient && GOWORK=off go build -o "$work/taskclient" ./taskclient)
export PATH=$work:$PATH
failed=0
for transport in "${transports[@]}"; do
	judge client "$transport" -- "$work/taskclient" || failed=1
	judge proxy "$transport" -- python3 interop/host/host.py || failed=1
	compare "$transport" || failed=1
	other_era "$transport" 2026-07-28 2025-11-25 || failed=1
	other_era "$transport" 2025-11-25 2026-07-28 || failed=1
done
exit "$failed"
