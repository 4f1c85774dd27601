package clientsuite_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/faults"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	overHTTP  = conformance.TransportHTTP
	overStdio = conformance.TransportStdio
	session   = mcp.LatestSession
	stateless = mcp.Latest
)

// planted is one defect of the toy client, its transport and revision, and the checks that
// must catch it.
type planted struct {
	defect    string
	transport conformance.TransportKind
	revision  mcp.Version
	caught    string // ids, separated by spaces
}

var defects = []planted{
	{"no-jsonrpc", overHTTP, session, "C-RPC-01/json"},
	{"extra-members", overHTTP, stateless, "C-RPC-01/members"},
	{"float-ids", overHTTP, session, "C-RPC-02/id"},
	{"reuses-ids", overHTTP, session, "C-RPC-03/unique"},
	{"array-params", overHTTP, session, "C-RPC-12/params"},
	{"notification-ids", overHTTP, session, "C-RPC-11/no-id"},
	{"bad-meta-keys", overHTTP, stateless, "C-META-01/keys"},
	{"float-tokens", overHTTP, session, "C-UTIL-08/token"},
	{"cancels-others", overHTTP, session, "C-UTIL-03/own C-UTIL-03/canceled C-LC-15/canceled"},
	{"text-arguments", overHTTP, session, "C-SCHEMA-01/shape C-TOOL-10/params"},
	{"stateless-meta", overHTTP, session, "C-META-10/none"},
	{"no-error-message", overHTTP, session, "C-RPC-08/error"},
	{"no-meta-version", overHTTP, stateless, "C-META-04/version C-HTTP-29/version"},
	{"no-meta-capabilities", overHTTP, stateless, "C-META-04/capabilities"},
	{"no-meta-info", overHTTP, stateless, "C-META-05/info"},
	{"answers-requests", overHTTP, stateless, "C-RPC-14/no-responses C-RPC-14/unanswered"},
	{"pings", overHTTP, stateless, "C-DISC-18/gone"},

	{"puts", overHTTP, session, "C-HTTP-01/post"},
	{"accepts-json", overHTTP, session, "C-HTTP-02/accept"},
	{"plain-text", overHTTP, stateless, "C-HTTP-02/content-type"},
	{"no-session-header", overHTTP, session, "C-HTTP-12/session"},
	{"keeps-session", overHTTP, session, "C-HTTP-12/initialize C-HTTP-16/initialize"},
	{"own-session", overHTTP, session, "C-HTTP-13/none C-HTTP-12/initialize"},
	{"no-version-header", overHTTP, session, "C-HTTP-14/version"},
	{"no-delete", overHTTP, session, "C-HTTP-18/delete"},
	{"deletes-nothing", overHTTP, stateless, "C-HTTP-28/post-only"},
	{"no-version-header", overHTTP, stateless, "C-HTTP-29/version"},
	{"no-mcp-method", overHTTP, stateless, "C-HTTP-30/method"},
	{"no-mcp-name", overHTTP, stateless, "C-HTTP-31/name C-HDR-05/name"},
	{"last-event-id", overHTTP, stateless, "C-HTTP-35/no-resume"},

	{"no-batches", overHTTP, mcp.Version2025_03_26, "C-RPC-15/array C-RPC-15/stream"},
	{"no-batches", overStdio, mcp.Version2025_03_26, "C-RPC-15/array C-RPC-15/stream"},
	{"any-batches", overHTTP, session, "C-RPC-17/ignored"},
	{"any-batches", overStdio, stateless, "C-RPC-17/ignored"},
	{"dies-of-arrays", overStdio, session, "C-RPC-17/next"},
	{"last-answer", overStdio, session, "C-RPC-18/first"},
	{"dies-of-strangers", overHTTP, stateless, "C-RPC-18/next"},
	{"no-resume", overHTTP, session, "C-HTTP-24/poll C-HTTP-24/again C-HTTP-24/result"},
	{"polls-once", overHTTP, session, "C-HTTP-24/again C-HTTP-24/result"},
	{"first-event-id", overHTTP, session, "C-HTTP-24/again"},
	{"exact-header-names", overHTTP, session, "C-HTTP-11/session"},
	{"any-place", overHTTP, stateless, "C-HDR-06/place"},
	{"any-token", overHTTP, stateless, "C-HDR-06/token"},
	{"annotated-values", overHTTP, stateless, "C-HDR-06/named"},
	{"ungated", overHTTP, session, "C-LC-11/resources C-LC-11/prompts C-LC-11/completions C-LC-11/logging C-RES-04/undeclared"},

	{"no-arguments", overHTTP, stateless, "C-PRM-01/params"},
	{"loses-results", overHTTP, session, "C-PRM-01/result C-CMP-01/result"},
	{"loses-codes", overStdio, stateless, "C-PRM-01/error"},
	{"swapped-argument", overHTTP, session, "C-CMP-01/params"},
	{"no-context", overHTTP, stateless, "C-CMP-01/context"},
	{"numbers-levels", overHTTP, session, "C-LOG-01/level"},
	{"forgets-level", overStdio, stateless, "C-LOG-04/stamped"},
	{"always-logs", overHTTP, stateless, "C-LOG-04/stamped"},
	{"asks-for-all", overHTTP, stateless, "C-CHG-03/filter"},
	{"deaf", overHTTP, stateless, "C-CHG-03/told"},
	{"deaf", overStdio, session, "C-RES-04/told"},
	{"never-unlistens", overHTTP, stateless, "C-CHG-07/ends"},
	{"never-unlistens", overStdio, stateless, "C-CHG-07/ends"},
	{"dead-after-cancel", overStdio, stateless, "C-CHG-07/next"},
	{"any-subscription", overStdio, stateless, "C-CHG-06/foreign"},
	{"relistens", overHTTP, stateless, "C-CHG-08/bounded"},
	{"trims-uris", overHTTP, session, "C-RES-04/uri"},
	{"no-unsubscribe", overHTTP, session, "C-RES-04/unsubscribe"},
	{"samples-tools", overHTTP, session, "C-SAMP-02/tools"},
	{"samples-tools", overHTTP, stateless, "C-SAMP-02/tools"},
	{"one-error", overHTTP, session, "C-ELIC-01/mode"},
	{"fetches-pages", overHTTP, session, "C-ELIC-05/fetch"},
	{"fetches-pages", overHTTP, stateless, "C-ELIC-05/fetch"},
	{"bad-action", overHTTP, stateless, "C-ELIC-05/action"},
	{"dies-of-notifications", overHTTP, session, "C-ELIC-07/unknown"},

	{"no-tasks", overHTTP, stateless, "C-TASK-07/result C-TASK-08/end"},
	{"loses-results", overStdio, stateless, "C-TASK-07/plain"},
	{"polls-hard", overHTTP, stateless, "C-TASK-08/interval"},
	{"asks-again", overStdio, stateless, "C-TASK-08/end"},
	{"forgets-extension", overHTTP, stateless, "C-TASK-06/declared"},
	{"unnamed-tasks", overHTTP, stateless, "C-TASK-11/name"},
	{"tasks-of-lists", overHTTP, stateless, "C-TASK-07/other"},

	{"always-tasks", overHTTP, session, "C-TASK-01/undeclared"},
	{"lists-first", overHTTP, session, "C-LC-01/first"},
	{"no-info-version", overHTTP, session, "C-LC-01/params"},
	{"offers-unknown", overHTTP, session, "C-LC-02/session-era"},
	{"offers-old", overHTTP, session, "C-LC-02/latest C-LC-02/fallback"},
	{"no-initialized", overStdio, session, "C-LC-07/initialized"},
	{"initialized-twice", overHTTP, session, "C-LC-07/once"},
	{"eager", overStdio, session, "C-LC-08/quiet"},
	{"any-version", overHTTP, session, "C-LC-04/disconnect C-LC-04/told"},
	{"ignores-refusal", overHTTP, session, "C-LC-07/refused C-LC-07/refused-told"},
	{"cancels-initialize", overStdio, session, "C-LC-10/not-canceled"},
	{"waits-forever", overHTTP, session, "C-LC-15/initialize C-UTIL-03/told C-LC-15/told"},

	{"probes-late", overHTTP, session, "C-NEG-02/first"},
	{"probes-old", overHTTP, session, "C-NEG-02/version"},
	{"one-code", overHTTP, session, "C-NEG-04/invalid-params C-NEG-04/invalid-request C-NEG-04/server-error C-NEG-04/own-code C-NEG-04/400 C-NEG-04/400-text C-NEG-04/400-error " +
		"C-NEG-04/404 C-NEG-04/405 C-NEG-04/invalid-params-served C-NEG-04/invalid-request-served C-NEG-04/server-error-served C-NEG-04/own-code-served C-NEG-04/400-served " +
		"C-NEG-04/400-text-served C-NEG-04/400-error-served C-NEG-04/404-served C-NEG-04/405-served"},
	{"one-code", overStdio, session, "C-NEG-04/silence C-NEG-04/silence-served C-NEG-04/own-code"},
	{"never-falls-back", overStdio, session, "C-NEG-04/not-found C-NEG-04/not-found-served"},
	{"ignores-listed", overHTTP, session, "C-NEG-06/initialize"},
	{"always-falls-back", overHTTP, stateless, "C-NEG-05/capability C-NEG-05/header"},
	{"always-falls-back", overStdio, stateless, "C-NEG-05/capability"},
	{"initializes-refused", overHTTP, stateless, "C-NEG-05/version"},
	{"newest-listed", overHTTP, stateless, "C-DISC-04/unknown"},
	{"tries-forever", overHTTP, stateless, "C-DISC-04/bounded"},
	{"swallows-errors", overHTTP, stateless, "C-DISC-04/none-told"},

	{"no-pong", overHTTP, session, "C-UTIL-01/answered"},
	{"no-pong", overStdio, session, "C-LC-09/ping"},
	{"string-ids", overHTTP, session, "C-RPC-06/integer"},
	{"number-ids", overHTTP, session, "C-RPC-06/string"},
	{"dies-of-requests", overStdio, session, "C-UTIL-01/result C-RPC-13/result"},
	{"dies-of-requests", overHTTP, stateless, "C-RPC-14/result"},
	{"says-yes", overHTTP, session, "C-RPC-13/unknown C-RPC-13/undeclared"},
	{"answers-notifications", overStdio, session, "C-RPC-11/silent"},
	{"dies-of-notifications", overHTTP, session, "C-RPC-11/result"},
	{"dies-of-progress", overHTTP, stateless, "C-UTIL-09/progress"},

	{"no-arguments", overHTTP, session, "C-TOOL-10/params"},
	{"float-arguments", overHTTP, session, "C-RPC-21/exact"},
	{"loses-results", overHTTP, session, "C-TOOL-12/result C-TOOL-02/all C-STDIO-02/large"},
	{"hides-is-error", overHTTP, stateless, "C-TOOL-12/is-error"},
	{"trims-cursors", overHTTP, session, "C-UTIL-12/opaque"},
	{"one-page", overStdio, session, "C-UTIL-12/follow C-TOOL-02/all"},
	{"reversed", overHTTP, stateless, "C-TOOL-02/all"},
	{"empty-ends", overHTTP, stateless, "C-UTIL-13/empty"},
	{"endless-lists", overHTTP, session, "C-UTIL-14/bounded"},
	{"hangs-on-repeat", overHTTP, session, "C-UTIL-14/ends"},

	{"loses-codes", overHTTP, session, "C-ERR-01/code C-HTTP-06/body"},
	{"resends-errors", overHTTP, session, "C-RSL-03/error-once"},
	{"takes-any-id", overStdio, session, "C-RPC-06/own"},
	{"takes-both", overHTTP, session, "C-RPC-07/both"},
	{"dies-of-bad-answers", overHTTP, session, "C-RPC-07/next"},
	{"any-case", overHTTP, session, "C-RPC-20/case"},
	{"strict-content", overHTTP, session, "C-RPC-19/tolerant"},
	{"no-output-check", overHTTP, stateless, "C-TOOL-11/mismatch"},
	{"first-come", overStdio, stateless, "C-RPC-06/each"},
	{"serial", overHTTP, session, "C-RSL-09/parallel"},
	{"small-lines", overStdio, session, "C-STDIO-02/large"},
	{"fetches-refs", overHTTP, stateless, "C-TOOL-08/fetch"},
	{"silent-cancel", overHTTP, session, "C-UTIL-03/canceled C-LC-15/canceled"},
	{"silent-cancel", overHTTP, stateless, "C-HTTP-34/close"},
	{"silent-cancel", overStdio, stateless, "C-STDIO-11/canceled"},
	{"cancels-twice", overHTTP, stateless, "C-HTTP-34/quiet"},
	{"dead-after-cancel", overStdio, session, "C-UTIL-07/late C-LC-15/next"},
	{"dead-after-cancel", overHTTP, session, "C-B1/next C-UTIL-07/late"},

	{"bad-action", overHTTP, session, "C-ELIC-02/action"},
	{"bad-content", overHTTP, session, "C-ELIC-02/content"},
	{"no-defaults", overHTTP, session, "C-ELIC-04/defaults"},
	{"content-with-decline", overHTTP, session, "C-ELIC-02/declined"},
	{"web-roots", overHTTP, session, "C-ROOT-01/list"},
	{"sample-without-role", overStdio, session, "C-SAMP-01/result"},

	{"no-second-try", overHTTP, stateless, "C-DISC-07/again C-DISC-07/result"},
	{"same-id", overHTTP, stateless, "C-DISC-07/new-id C-MRTR-05/new-id"},
	{"tries-forever", overHTTP, stateless, "C-DISC-07/bounded"},
	{"swallows-errors", overHTTP, stateless, "C-DISC-07/told C-DISC-12/unknown C-DISC-09/told C-MRTR-03/told C-MRTR-08/told C-MRTR-01/told C-RSL-03/told C-B1/told"},
	{"newest-listed", overHTTP, stateless, "C-DISC-04/mutual"},
	{"takes-weird", overHTTP, stateless, "C-DISC-12/unknown"},
	{"needs-result-type", overHTTP, stateless, "C-DISC-13/absent"},
	{"widens", overHTTP, stateless, "C-DISC-09/widen"},
	{"trims-state", overHTTP, stateless, "C-MRTR-04/state"},
	{"changes-arguments", overHTTP, stateless, "C-MRTR-04/params"},
	{"leaks-state", overHTTP, stateless, "C-MRTR-06/leak"},
	{"interim-results", overHTTP, stateless, "C-MRTR-04/result C-MRTR-04/state C-MRTR-04/answered"},
	{"wrong-keys", overHTTP, stateless, "C-MRTR-04/keys"},
	{"wraps-answers", overStdio, stateless, "C-MRTR-04/bare"},
	{"always-state", overHTTP, stateless, "C-MRTR-04/no-state"},
	{"claims-undeclared", overHTTP, stateless, "C-MRTR-03/undeclared"},
	{"endless-rounds", overHTTP, stateless, "C-MRTR-08/cap"},
	{"rounds-on-lists", overHTTP, stateless, "C-MRTR-01/list"},

	{"no-streams", overHTTP, session, "C-HTTP-03/stream"},
	{"last-data-line", overHTTP, session, "C-SSE-01/format"},
	{"reads-priming", overHTTP, session, "C-SSE-04/priming"},
	{"any-event", overHTTP, session, "C-SSE-03/other"},
	{"exact-types", overHTTP, session, "C-HTTP-03/parameters"},
	{"ignores-error-bodies", overHTTP, session, "C-HTTP-06/body"},
	{"follows-redirects", overHTTP, session, "C-HTTP-07/foreign"},
	{"hammers", overHTTP, session, "C-HTTP-10/waits C-HTTP-10/bounded C-B21/bounded"},
	{"wants-202", overHTTP, session, "C-HTTP-04/status"},
	{"no-new-session", overHTTP, session, "C-HTTP-16/initialize C-HTTP-16/served"},
	{"new-session-each", overHTTP, session, "C-HTTP-16/single"},
	{"no-resume", overHTTP, session, "C-HTTP-23/resume C-HTTP-23/result"},
	{"resumes-at-once", overHTTP, session, "C-HTTP-25/retry"},
	{"resends", overHTTP, session, "C-RSL-03/once C-B4/once C-C3/once"},
	{"resends-streams", overHTTP, session, "C-HTTP-23/once"},
	{"get-storm", overHTTP, session, "C-HTTP-19/405"},

	{"no-param-headers", overHTTP, stateless, "C-HDR-01/mirrored C-HDR-10/again"},
	{"raw-headers", overHTTP, stateless, "C-HDR-04/base64"},
	{"no-marker", overHTTP, stateless, "C-HDR-04/marker"},
	{"quoted-headers", overHTTP, stateless, "C-HDR-03/primitive"},
	{"null-headers", overHTTP, stateless, "C-HDR-02/absent"},
	{"all-headers", overHTTP, stateless, "C-HDR-01/others"},
	{"flat-headers", overHTTP, stateless, "C-HDR-01/nested"},
	{"keeps-invalid", overHTTP, stateless, "C-HDR-07/dropped"},
	{"drops-annotated", overHTTP, stateless, "C-HDR-07/kept"},
	{"raw-name", overHTTP, stateless, "C-HDR-05/name C-HTTP-31/name"},
	{"no-refresh", overHTTP, stateless, "C-HDR-10/refresh C-HDR-10/again"},
	{"refreshes-forever", overHTTP, stateless, "C-HDR-10/bounded"},

	{"pretty-lines", overStdio, session, "C-STDIO-01/lines C-RPC-01/json"},
	{"terminates-first", overStdio, session, "C-STDIO-06/eof C-STDIO-06/stubborn-eof"},
	{"leaves-process", overStdio, session, "C-STDIO-06/left C-STDIO-06/eof"},
	{"never-kills", overStdio, session, "C-STDIO-06/stubborn-left"},
	{"waits-for-exit", overStdio, session, "C-STDIO-06/stubborn-ends"},
	{"never-ends", overStdio, session, "C-STDIO-06/ends"},
	{"dies-of-noise", overStdio, session, "C-STDIO-03/skipped"},
	{"wants-lf", overStdio, session, "C-STDIO-02/line-ends"},
	{"blocks-stderr", overStdio, session, "C-STDIO-04/drained"},
}

// uncaught are the checks that no defect makes fail, with the reason.
var uncaught = map[string]string{"C-LC-02/spoken": "it is inconclusive: TestSpoken"}

// TestDefects runs the suite against each defect of the toy client: at least 95 % must be
// caught, and every check must catch one.
func TestDefects(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	defects := slices.Concat(defects, loginDefects)
	rows := make([]string, len(defects))
	missed := 0
	caught := map[string]bool{}
	t.Run("plant", func(t *testing.T) {
		for i, d := range defects {
			if testmain.Race && i%16 != 0 { // they differ in messages, not in goroutines
				continue
			}
			t.Run(fmt.Sprintf("%s %s %s", d.defect, d.transport, d.revision.Era()), func(t *testing.T) {
				t.Parallel()
				var by []string
				for _, r := range judgeToy(t, d.defect, d.transport, d.revision, strings.Fields(d.caught)...).Results {
					if r.Status == conformance.Fail || r.Status == conformance.Warn {
						by = append(by, r.ID)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for _, id := range by {
					caught[id] = true
				}
				var lacking []string
				for id := range strings.FieldsSeq(d.caught) {
					if !slices.Contains(by, id) {
						lacking = append(lacking, id)
					}
				}
				rows[i] = fmt.Sprintf("%-22s %-5s %s  %s", d.defect, d.transport, d.revision, strings.Join(by, " "))
				if len(by) == 0 {
					missed++
				}
				if len(lacking) > 0 {
					rows[i] += "  BUT NOT " + strings.Join(lacking, " ")
					t.Errorf("%s is not caught by %v, only by %v", d.defect, lacking, by)
				}
			})
		}
	})
	t.Logf("%d defects, %d missed\n%s", len(defects), missed, strings.Join(rows, "\n"))
	if testmain.Race {
		require.Zero(t, missed)
		return
	}
	require.GreaterOrEqual(t, len(defects), 45)
	require.LessOrEqual(t, missed*20, len(defects), "more than 5 %% missed")
	words := map[string]bool{} // one code judges all faults: each of its kinds of check must catch one
	for _, sc := range client.Scenarios() {
		if sc.Area == faults.Area {
			for _, c := range sc.Checks {
				_, word, _ := strings.Cut(c.ID, "/")
				words[word] = words[word] || caught[c.ID]
			}
			continue
		}
		for _, c := range sc.Checks {
			require.NotEqual(t, caught[c.ID], uncaught[c.ID] != "", "%s: %t caught, and the reason why not is %q", c.ID, caught[c.ID], uncaught[c.ID])
		}
	}
	require.Equal(t, map[string]bool{"told": true, "once": true, "bounded": true, "next": true}, words)
}

// TestLostDigits: a client in JavaScript loses the last digit of a large integer in its
// arguments. Only the check of that digit reports it.
func TestLostDigits(t *testing.T) {
	t.Parallel()
	for _, way := range []conformance.TransportKind{overStdio, overHTTP} {
		for _, revision := range []mcp.Version{session, stateless} {
			t.Run(fmt.Sprintf("%s %s", way, revision), func(t *testing.T) {
				t.Parallel()
				results := judgeToy(t, "float-arguments", way, revision, "C-TOOL-12/result", "C-RPC-21/exact").Results
				got := map[string]conformance.Result{}
				for _, r := range results {
					got[r.ID] = r
				}
				require.Equal(t, conformance.Pass, got["C-TOOL-12/result"].Status, got["C-TOOL-12/result"].Actual)
				require.Equal(t, conformance.Warn, got["C-RPC-21/exact"].Status)
				require.Equal(t, conformance.Advice, got["C-RPC-21/exact"].Level)
			})
		}
	}
}
