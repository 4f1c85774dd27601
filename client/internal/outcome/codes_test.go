package outcome

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// The page about codes has every code that a client returns without a profile, and no other.
func TestPageNamesTheCodes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/errors.md")
	require.NoError(t, err)
	page := strings.Join(strings.Fields(string(raw)), " ")
	sentence := regexp.MustCompile(`A client returns the (E\d)xx codes, (E\d\d\d) and (E\d\d\d)\.`).FindStringSubmatch(page)
	require.NotNil(t, sentence)
	named := sentence[1:]

	returned := map[string]bool{}
	note := func(e *mcperrors.Error) {
		if e.Code == "" { // a cancellation has none
			return
		}
		i := slices.IndexFunc(named, func(prefix string) bool { return strings.HasPrefix(string(e.Code), prefix) })
		require.NotEqual(t, -1, i, "%s of %v is not on the page", e.Code, e)
		returned[named[i]] = true
	}
	for reason := range transport.Reason(len(reasons)) {
		for _, status := range []int{302, 400, 401, 403, 404, 408, 409, 410, 413, 425, 429, 500, 501, 502, 503, 504, 505} {
			note(ErrorOf(&transport.Failure{Reason: reason, Err: errors.New("x"), HTTP: &mcperrors.HTTPEvidence{Status: status}}))
		}
	}
	for code := int64(-32800); code <= 600; code++ {
		note(errormap.FromRPC(&jsonrpc.Error{Code: code, Message: "x"}, errormap.Options{Method: "tools/call", Tool: "t"}))
		note(errormap.FromRPC(&jsonrpc.Error{Code: code, Message: "x"}, errormap.Options{Method: "resources/read"}))
	}
	require.ElementsMatch(t, named, slices.Collect(maps.Keys(returned)), "the page names a code that no client returns")
}

// The page states that a lost session is retryable, unlike its row.
func TestPageSaysThatALostSessionIsRetryable(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/errors.md")
	require.NoError(t, err)
	e := ErrorOf(&transport.Failure{Reason: transport.ReasonSession, Err: errors.New("x")})
	entry, ok := mcperrors.Lookup(e.Code)
	require.True(t, ok)
	require.NotEqual(t, entry.Retryable, e.Retryable, "then the page needs no sentence about it")
	require.Contains(t, strings.Join(strings.Fields(string(raw)), " "),
		"lost is "+string(e.Code)+" and, other than the table says, retryable with the action \""+e.SuggestedAction+"\"")
}
