package auth

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// Logins that do not help, in virtual time: each call begins as many as it may.
func TestTries(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		pause  time.Duration // between calls
		want   func(call, try int) string
		good   bool // calls succeed after one login
		logins int  // of 40 calls
		why    string
	}{
		"a new scope each time":        {15 * time.Second, func(call, try int) string { return strconv.Itoa(call) + " " + strconv.Itoa(try) }, false, 4, "4 logins in the last ten minutes did not help"},
		"the same scope each time":     {15 * time.Second, func(int, int) string { return "admin" }, false, 2, "2 logins for the same reason in the last ten minutes did not help"},
		"no scope":                     {15 * time.Second, func(int, int) string { return "" }, false, 4, "4 logins in the last ten minutes did not help"},
		"a new scope, within a moment": {time.Second / 10, func(call, try int) string { return strconv.Itoa(call) + " " + strconv.Itoa(try) }, false, 2, "2 logins a moment ago did not help"},
		"a new scope each half hour":   {time.Hour / 2, func(call, try int) string { return strconv.Itoa(call) + " " + strconv.Itoa(try) }, false, 80, "2 logins of this call did not help"},
		"a scope for each tool":        {time.Second, func(call, _ int) string { return strconv.Itoa(call) }, true, 40, ""},
		"a token that is refused once": {time.Second, func(int, int) string { return anotherToken }, true, 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tr tries
				logins, why := 0, ""
				for call := range 40 {
					id, most := &transport.ChallengedCall{}, 5
					if row.good {
						most = 1
					}
					for try := range most {
						w := wanted{row.want(call, try), id}
						vain := tr.allow(w)
						if vain != nil {
							why = vain.Error()
							require.Positive(t, vain.pause())
							break
						}
						tr.add(w)
						logins++
					}
					if row.good {
						id.Succeed()
					}
					time.Sleep(row.pause)
				}
				require.Equal(t, row.logins, logins)
				require.Equal(t, row.why, why)
				require.LessOrEqual(t, len(tr.all), triesInAll)
			})
		})
	}
}

// calm waits until calls after a refused one may begin a login again. The ten minutes continue.
func calm(a *Authorizer) {
	for _, s := range a.servers {
		s.tries.rest, s.failed.until, s.failed.at = time.Time{}, time.Time{}, time.Time{}
	}
}

// stepUps are the ways to a server that wants a scope for each call.
var stepUps = map[string]struct {
	version string
	sse     bool
}{
	"session era":   {"2025-11-25", false},
	"stateless era": {"2026-07-28", false},
	"HTTP+SSE":      {"2024-11-05", true},
}

// stepUp connects to a world in one of these ways. asked counts the browser windows.
func stepUp(t *testing.T, w *authtest.World, way string, opts ...Option) (c *client.Client, a *Authorizer, asked *int) {
	t.Helper()
	asked = new(int)
	a = Login(append(opts, WithPrompt(func(_ context.Context, p Prompt) error {
		*asked++
		resp, err := http.Get(p.URL)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Body.Close()
	}))...)
	return connectTo(t, w, way, a), a, asked
}

func connectTo(t *testing.T, w *authtest.World, way string, a *Authorizer) *client.Client {
	t.Helper()
	over := stepUps[way]
	var to transport.Transport = &transport.HTTP{URL: w.MCP.URL + "/mcp"}
	if over.sse {
		w.OverSSE()
		w.AnyResource, w.Resource["resource"] = true, w.MCP.URL
		to = &transport.SSE{URL: w.MCP.URL + "/sse"}
	}
	c, err := client.Connect(t.Context(), to, client.WithAuthorizer(a), client.WithProtocolVersion(over.version))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

var eight = []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"}

// An honest server may want another scope for each tool.
func TestScopeForEachTool(t *testing.T) {
	t.Parallel()
	honest := func(tool string, has []string) string {
		if slices.Contains(has, tool) {
			return ""
		}
		return tool
	}
	for way := range stepUps {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			t.Run("one after the other", func(t *testing.T) {
				t.Parallel()
				w := authtest.New(t)
				w.ScopeForEach(eight, honest)
				c, _, asked := stepUp(t, w, way)
				for _, tool := range slices.Concat(eight, eight) {
					_, err := c.CallTool(t.Context(), tool, map[string]any{})
					require.NoError(t, err, tool)
				}
				require.Equal(t, 1+len(eight), *asked)
			})
			t.Run("at the same time", func(t *testing.T) {
				t.Parallel()
				w := authtest.New(t)
				w.ScopeForEach(eight, honest)
				c, _, asked := stepUp(t, w, way)
				var calls sync.WaitGroup
				errs := make([]error, 4)
				for i := range errs {
					calls.Go(func() { _, errs[i] = c.CallTool(t.Context(), eight[i], map[string]any{}) })
				}
				calls.Wait()
				for _, err := range errs {
					require.NoError(t, err)
				}
				require.LessOrEqual(t, *asked, 1+len(errs))
			})
			t.Run("a program without a person", func(t *testing.T) {
				t.Parallel()
				w := authtest.New(t)
				w.ScopeForEach(eight, honest)
				c := connectTo(t, w, way, ClientCredentials("robot", "robot-planted-secret"))
				for _, tool := range eight {
					_, err := c.CallTool(t.Context(), tool, map[string]any{})
					require.NoError(t, err, tool)
				}
				require.Equal(t, 1+len(eight), w.Asked("client_credentials"))
			})
		})
	}
}

// A server that wants a new scope after each login opens two windows by one call, and four
// in ten minutes.
func TestNewScopeAfterEachLogin(t *testing.T) {
	t.Parallel()
	for way := range stepUps {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			hostile := func(w *authtest.World) {
				n := 0
				var mu sync.Mutex
				w.ScopeForEach(eight[:1], func(string, []string) string {
					mu.Lock()
					defer mu.Unlock()
					n++
					return "s" + strconv.Itoa(n)
				})
			}
			check := func(t *testing.T, err error, count string) {
				t.Helper()
				var e *Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, ReasonScope, e.Reason)
				require.Regexp(t, `the server wants the scopes "s\d+", and `+count+` logins .* did not help`, e.Error())
				require.NotEmpty(t, e.Help)
				require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
				require.Positive(t, mcperrors.RetryAfter(err))
			}
			t.Run("a person", func(t *testing.T) {
				t.Parallel()
				w := authtest.New(t)
				hostile(w)
				c, a, asked := stepUp(t, w, way)
				require.Equal(t, 1, *asked)
				_, err := c.CallTool(t.Context(), eight[0], map[string]any{})
				check(t, err, "2")
				require.Equal(t, 1+2, *asked, "windows of one call")
				_, err = c.CallTool(t.Context(), eight[0], map[string]any{})
				check(t, err, "2")
				require.Equal(t, 1+2, *asked, "a moment later")
				for range 40 {
					calm(a)
					_, err = c.CallTool(t.Context(), eight[0], map[string]any{})
				}
				check(t, err, "4")
				require.Equal(t, 1+4, *asked, "windows of 40 calls")
			})
			t.Run("a program without a person", func(t *testing.T) {
				t.Parallel()
				w := authtest.New(t)
				hostile(w)
				a := ClientCredentials("robot", "robot-planted-secret")
				c := connectTo(t, w, way, a)
				for range 40 {
					_, err := c.CallTool(t.Context(), eight[0], map[string]any{})
					require.Error(t, err)
					calm(a)
				}
				require.Equal(t, 1+4, w.Asked("client_credentials"))
			})
		})
	}
}
