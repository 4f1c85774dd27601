package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// ownMethod is one of the server's own: its failures are the server's, those of
// tools/call are the tool's, and those of a list are nobody's.
const ownMethod = "acme/query"

// queries uses it once.
func queries(t *testing.T, c *client.Client) error {
	t.Helper()
	_, err := c.Call(t.Context(), ownMethod, nil)
	return err
}

// seedProfile is the profile of the seed's application: by default an error that
// answers a call is its result.
var seedProfile = client.WithErrorProfile(mcperrors.Docling)

var broken = refusal{Code: -32603, Message: "no database"}

// Five failures in a row open the circuit, of the server or of a tool; one
// success between them starts the count again; the number is configurable.
func TestAC_006_2_OpensAfterFailuresInARow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts func() []client.Option
		n    int
	}{
		{"default", func() []client.Option { return nil }, 5},
		{"three", func() []client.Option { // each client has its own
			return []client.Option{client.WithResilience(client.Resilience{
				Off:     true,
				Breaker: breaker.New(breaker.Settings{FailureThreshold: 3}),
				Tools:   breaker.NewGroup(breaker.GroupSettings{Settings: breaker.Settings{FailureThreshold: 3}}),
			})}
		}, 3},
	} {
		for _, circuit := range []struct {
			name string
			use  func(t *testing.T, c *client.Client) error
			set  func(s *seedServer, well bool)
			of   func(c *client.Client) breaker.State
		}{
			{
				"server", queries,
				func(s *seedServer, well bool) {
					if s.always(ownMethod, broken); well {
						s.answer(ownMethod, `{}`)
					}
				},
				func(c *client.Client) breaker.State { return c.Breaker().State() },
			},
			{
				"tool", func(t *testing.T, c *client.Client) error {
					_, err := c.CallTool(t.Context(), "echo", nil)
					return err
				},
				func(s *seedServer, well bool) {
					if s.always("tools/call", broken); well {
						s.answer("tools/call", `{"content":[]}`)
					}
				},
				func(c *client.Client) breaker.State {
					if b := c.ToolBreakers().Find("echo"); b != nil {
						return b.State()
					}
					return breaker.Closed // none is made before the first failure
				},
			},
		} {
			t.Run(tt.name+"/"+circuit.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newSeedServer(overJSON)
					defer s.stop()
					c := s.connected(t, append(tt.opts(), seedProfile)...)
					for range 3 {
						circuit.set(s, false)
						for i := range tt.n - 1 {
							require.Error(t, circuit.use(t, c))
							require.Equal(t, breaker.Closed, circuit.of(c), "after %d failures", i+1)
						}
						circuit.set(s, true)
						require.NoError(t, circuit.use(t, c), "a success starts the count again")
					}
					circuit.set(s, false)
					for range tt.n {
						require.Equal(t, breaker.Closed, circuit.of(c))
						require.Error(t, circuit.use(t, c))
					}
					require.Equal(t, breaker.Open, circuit.of(c))
					sent := len(s.heard())
					err := circuit.use(t, c)
					require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
					require.Equal(t, mcperrors.CodeUnavailable, mcperrors.CodeOf(err))
					require.Len(t, s.heard(), sent, "and keeps requests from the server")
				})
			})
		}
	}
}

// asked is what a health endpoint of a client answers.
type asked struct {
	code   int
	status string
	state  string
	text   string
	fields map[string]any // of the server's circuit
}

func askHealth(t *testing.T, c *client.Client) asked {
	t.Helper()
	w := httptest.NewRecorder()
	client.HealthHandler(c).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health", nil))
	var body struct {
		Status  string `json:"status"`
		Servers []struct {
			Server  string         `json:"server"`
			Breaker map[string]any `json:"breaker"`
		} `json:"servers"`
	}
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.Len(t, body.Servers, 1)
	require.NotEmpty(t, body.Servers[0].Server)
	b := body.Servers[0].Breaker
	require.Equal(t, body.Servers[0].Server, b["name"], "a circuit is named after its server")
	// The endpoint of package breaker shows the same circuit.
	alone := httptest.NewRecorder()
	breaker.Handler(c.Breaker()).ServeHTTP(alone, httptest.NewRequest(http.MethodGet, "/health", nil))
	require.Contains(t, alone.Body.String(), fmt.Sprintf(`"state":%q`, b["state"]))
	require.Equal(t, b["state"] == "OPEN", alone.Code == http.StatusServiceUnavailable)
	return asked{w.Code, body.Status, fmt.Sprint(b["state"]), w.Body.String(), b}
}

// A health endpoint shows the circuit in each of its states, with what led to
// them, while calls are made.
func TestAC_006_7_StateIsObservable(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		c := s.connected(t, seedProfile)
		got := askHealth(t, c)
		require.Equal(t, []any{http.StatusOK, "ok", "CLOSED"}, []any{got.code, got.status, got.state}, got.text)
		require.EqualValues(t, 0, got.fields["consecutive_failures"])

		s.always(ownMethod, broken)
		for range 3 {
			require.Error(t, queries(t, c))
		}
		got = askHealth(t, c)
		require.Equal(t, []any{http.StatusOK, "ok", "CLOSED"}, []any{got.code, got.status, got.state}, got.text)
		require.EqualValues(t, 3, got.fields["consecutive_failures"])

		for range 2 {
			require.Error(t, queries(t, c))
		}
		opened := time.Now()
		time.Sleep(10 * time.Second)
		sent := len(s.heard())
		got = askHealth(t, c)
		require.Equal(t, []any{http.StatusServiceUnavailable, "unavailable", "OPEN"}, []any{got.code, got.status, got.state}, got.text)
		require.EqualValues(t, 5, got.fields["consecutive_failures"])
		require.EqualValues(t, 20_000, got.fields["retry_after_ms"])
		require.Equal(t, opened.UTC().Format(time.RFC3339Nano), got.fields["since"])
		require.Len(t, s.heard(), sent, "asking costs the server nothing")

		time.Sleep(20*time.Second + time.Nanosecond)
		s.takes("ping", time.Second)
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "echo", nil)
			done <- err
		}()
		synctest.Wait()
		require.Equal(t, "HALF_OPEN", askHealth(t, c).state)
		require.NoError(t, <-done)
		got = askHealth(t, c)
		require.Equal(t, []any{http.StatusOK, "ok", "CLOSED"}, []any{got.code, got.status, got.state}, got.text)
		require.EqualValues(t, 0, got.fields["consecutive_failures"])
		require.EqualValues(t, 1, got.fields["opens"])
	})
}

// HALF_OPEN ends with what the test request shows: an answer closes the circuit,
// a failure opens it for another full cooldown.
func TestAC_006_6_ProbeDecidesForTheClient(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		c := s.connected(t, seedProfile)
		s.always(ownMethod, broken)
		for range 5 {
			require.Error(t, queries(t, c))
		}
		for range 3 {
			time.Sleep(30*time.Second + time.Nanosecond)
			s.always("ping", nil) // silence: the probe has 5 s
			_, err := c.CallTool(t.Context(), "echo", nil)
			require.Error(t, err)
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
			require.Equal(t, breaker.Open, c.Breaker().State())
			time.Sleep(29 * time.Second)
			_, err = c.CallTool(t.Context(), "echo", nil)
			require.ErrorIs(t, err, mcperrors.ErrCircuitOpen, "another full period")
		}
		require.Zero(t, s.count("tools/call"), "no call is the test request")
		time.Sleep(2 * time.Second)
		s.answer("ping", `{}`)
		_, err := c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, breaker.Closed, c.Breaker().State())
	})
}

// Every change of state is logged once, in order, with both states and the
// server's name; to OPEN as a warning.
func TestAC_006_8_TransitionsAreLogged(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		var out bytes.Buffer
		c := s.connected(t, seedProfile, client.WithLogger(slog.New(slog.NewJSONHandler(&out, nil))))
		s.always(ownMethod, broken)
		for range 7 { // the last two are refused, which is no change
			require.Error(t, queries(t, c))
		}
		time.Sleep(30*time.Second + time.Nanosecond)
		s.always("ping", broken) // which is the test request
		require.Error(t, queries(t, c))
		s.answer("ping", `{}`)
		time.Sleep(30*time.Second + time.Nanosecond)
		_, err := c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		synctest.Wait()
		server := c.Health().Server
		require.NotEmpty(t, server)

		type line struct {
			Level, Breaker, From, To string
			Failures                 int `json:"consecutive_failures"`
		}
		var got []line
		for dec := json.NewDecoder(bytes.NewReader(out.Bytes())); dec.More(); {
			var l line
			require.NoError(t, dec.Decode(&l))
			if l.From != "" {
				got = append(got, l)
			}
		}
		require.Equal(t, []line{
			{"WARN", server, "CLOSED", "OPEN", 5},
			{"INFO", server, "OPEN", "HALF_OPEN", 5},
			{"WARN", server, "HALF_OPEN", "OPEN", 6},
			{"INFO", server, "OPEN", "HALF_OPEN", 6},
			{"INFO", server, "HALF_OPEN", "CLOSED", 0},
		}, got, out.String())
	})
}
