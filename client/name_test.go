package client_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// unreachable is a network without servers.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
}

// ended is a stream that has ended.
type ended struct{ io.Reader }

func (ended) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (ended) Close() error              { return nil }

// Without WithName, a server has the name of its transport, without arguments, users
// and queries, which hold secrets. WithName replaces it.
func TestNameOfAServer(t *testing.T) {
	t.Parallel()
	none := ended{strings.NewReader("")}
	tests := map[string]struct {
		over     transport.Transport
		fallback string
	}{
		"a program":           {&transport.Command{Argv: []string{"no-such-program-anywhere", "--key", "hunter2"}}, "no-such-program-anywhere"},
		"a program by a path": {&transport.Command{Argv: []string{"/no/such/folder/node", "server.js"}}, "/no/such/folder/node"},
		"a URL":               {&transport.HTTP{URL: "https://user:hunter2@a.example:8443/mcp?key=hunter2", RoundTripper: unreachable{}}, "https://a.example:8443/mcp"},
		"HTTP+SSE":            {&transport.SSE{URL: "https://a.example/sse?key=hunter2", RoundTripper: unreachable{}}, "https://a.example/sse"},
		"a stream":            {&transport.Stream{In: none, Out: none}, "stream"},
		"a stream's name":     {&transport.Stream{In: none, Out: none, Name: "socket"}, "socket"},
	}
	for name, tt := range tests {
		for given, want := range map[string]string{"": tt.fallback, "mail": "mail", "Büro – Kalender": "Büro – Kalender"} {
			t.Run(name+" called "+given, func(t *testing.T) {
				t.Parallel()
				over := tt.over
				if s, ok := over.(*transport.Stream); ok { // is for one connection
					over = &transport.Stream{In: s.In, Out: s.Out, Name: s.Name}
				}
				_, err := client.Connect(t.Context(), over, client.WithName(given))
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, want, e.Server)
				require.NotContains(t, err.Error(), "hunter2")
			})
		}
	}
}

// A name that could not be shown, or not in one line, is a mistake in the options.
func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name string
		ok   bool
	}{
		"none":              {"", true},
		"a key":             {"plugin:mail/2", true},
		"the longest":       {strings.Repeat("ß", 100), true},
		"too long":          {strings.Repeat("x", 101), false},
		"a line break":      {"a\nb", false},
		"a tab":             {"a\tb", false},
		"an escape":         {"\x1b[2J", false},
		"written backwards": {"a\u202eb", false},
		"no UTF-8":          {"a\xff", false},
		"only spaces":       {"  ", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := client.CheckOptions(client.WithName(tt.name))
			if tt.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, mcperrors.CodeInvalidRequest, mcperrors.CodeOf(err))
			require.ErrorContains(t, err, "WithName: a name has at most 100 characters")
			_, err = client.Connect(t.Context(), &transport.Stream{}, client.WithName(tt.name))
			require.ErrorContains(t, err, "WithName")
		})
	}
}

// Log lines of the client's cache have the name, too.
func TestNameInTheLogOfTheCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs := &lines{}
		r := client.Resilience{Breaker: breaker.New(breaker.Settings{})}
		c, s := alone(t, staleIsGood, client.WithName("files"), client.WithLogger(logs.logger()), client.WithResilience(r))
		s.result("tools/list", `{`+aMinute+`,"tools":[`+aTool+`]}`)
		c.InvalidateTools()
		getSchema(t, c, "echo")
		time.Sleep(time.Minute)
		r.Breaker.Force(breaker.ForcedOpen)
		getSchema(t, c, "echo")
		require.Regexp(t, `the stale list is used.*server=files`, logs.text())
	})
}
