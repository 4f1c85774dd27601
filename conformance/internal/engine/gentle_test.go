package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestGentle: a message that is not gentle is not sent, even from a scenario that is marked, and no
// check fails because of that.
func TestGentle(t *testing.T) {
	t.Parallel()
	play := func(id string, run func(tr *Trial, s *wire.Session)) Scenario {
		return Scenario{ID: id, Area: "base", Gentle: true, Checks: []Check{{Check: conformance.Check{ID: id, Level: conformance.Must}}}, Run: func(tr *Trial) { run(tr, tr.Shared()) }}
	}
	request := func(method string, params any) func(tr *Trial, s *wire.Session) {
		return func(tr *Trial, s *wire.Session) {
			a, err := s.Request(tr.Ctx, method, params)
			tr.Check(tr.Scenario.ID, err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
		}
	}
	send := func(data string) func(tr *Trial, s *wire.Session) {
		return func(tr *Trial, s *wire.Session) {
			_, err := s.Send(tr.Ctx, []byte(data))
			tr.NoError(err)
			tr.Pass(tr.Scenario.ID)
		}
	}
	padding := map[string]any{"_meta": map[string]any{"com.example/padding": strings.Repeat("x", 3_000)}}
	unmarked := play("G-08", request(mcp.MethodPing, nil))
	unmarked.Gentle = false
	scenarios := []Scenario{
		play("G-01", request(mcp.MethodPing, nil)),
		play("G-02", request("com.example/unknown", nil)),
		play("G-03", send(`{"jsonrpc":`)),
		play("G-04", send(`{}`)),
		play("G-05", request(mcp.MethodToolsCall, CallParams("write", struct{}{}))),
		play("G-06", request(mcp.MethodToolsCall, CallParams("read", struct{}{}))),
		play("G-11", request(mcp.MethodPromptsList, nil)), // the server asks before it answers
		play("G-07", func(tr *Trial, s *wire.Session) {
			began := time.Now()
			s.AwaitTurn(tr.Ctx)
			tr.Check("G-07", time.Since(began) > gentlePace/2, "a wait for the turn", "none")
		}),
		unmarked,
		play("G-09", func(tr *Trial, s *wire.Session) {
			for range 100 {
				a, err := s.Request(tr.Ctx, mcp.MethodPing, padding)
				tr.NoError(err)
				tr.NoError(a.In.Err)
			}
			tr.Pass("G-09")
		}),
		play("G-10", request(mcp.MethodPing, nil)),
	}
	got := map[string]string{}
	var lines []string
	synctest.Test(t, func(t *testing.T) {
		subject := conformance.InProcess(func(_ context.Context, in io.Reader, out io.Writer) error {
			return readAndWrite(in, out, &lines)
		})
		report, err := Run(t.Context(), subject, Suite{Scenarios: scenarios}, conformance.Options{Gentle: true, Revisions: []mcp.Version{mcp.LatestSession}})
		require.NoError(t, err)
		for _, res := range report.Results {
			got[res.ID] = strings.TrimSpace(fmt.Sprint(res.Status, " ", res.Detail))
		}
	})
	require.Equal(t, map[string]string{
		"G-01": "pass", "G-02": "skip " + gentleRude, "G-03": "skip " + gentleRude, "G-04": "skip " + gentleRude,
		"G-05": "skip --gentle calls only tools with readOnlyHint", "G-06": "pass", "G-11": "pass", "G-07": "pass",
		"G-08": "skip " + gentleRude, "G-09": "skip " + gentleUsedUp, "G-10": "skip " + gentleUsedUp,
	}, got)
	all := strings.Join(lines, "")
	require.LessOrEqual(t, len(all), gentleBytes)
	require.Greater(t, len(all), gentleBytes/2)
	require.NotContains(t, all, "com.example/unknown")
	require.NotContains(t, all, `"write"`)
}

// TestGentle_Denied: a server that does not take the credentials any more gets no other
// request, and is not judged by its refusals.
func TestGentle_Denied(t *testing.T) {
	t.Parallel()
	var scenarios []Scenario
	for i := range 20 {
		id := fmt.Sprintf("G-%02d", i)
		scenarios = append(scenarios, Scenario{ID: id, Area: "base", Gentle: true, Checks: []Check{{Check: conformance.Check{ID: id, Level: conformance.Must}}}, Run: func(tr *Trial) {
			s := tr.Shared()
			a, err := s.Request(tr.Ctx, mcp.MethodPing, nil)
			tr.Check(tr.Scenario.ID, err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
		}})
	}
	const served = 10
	posts := 0
	subject := conformance.URL("http://server.test/mcp", nil)
	subject.RoundTripper = roundTripper(func(req *http.Request) (*http.Response, error) {
		status, body := http.StatusOK, ""
		if req.Method == http.MethodPost {
			posts++
			data, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			var lines []string
			var answer strings.Builder
			if err := readAndWrite(strings.NewReader(string(data)+"\n"), &answer, &lines); err != nil {
				return nil, err
			}
			body = answer.String()
		}
		switch {
		case posts > served:
			status = http.StatusUnauthorized
		case body == "":
			status = http.StatusAccepted
		}
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {wire.MediaJSON}}, Body: io.NopCloser(strings.NewReader(body)), Request: req,
		}, nil
	})
	synctest.Test(t, func(t *testing.T) {
		report, err := Run(t.Context(), subject, Suite{Scenarios: scenarios}, conformance.Options{Gentle: true, Revisions: []mcp.Version{mcp.LatestSession}})
		require.Nil(t, report)
		var unreachable *conformance.UnreachableError
		require.ErrorAs(t, err, &unreachable)
		require.Equal(t, http.StatusUnauthorized, unreachable.Status)
		require.EqualError(t, err, "the server does not take the credentials any more (HTTP 401)")
	})
	require.Equal(t, served+1, posts)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// readAndWrite serves two tools, and keeps the lines that it reads.
func readAndWrite(in io.Reader, out io.Writer, lines *[]string) error {
	for r := bufio.NewReader(in); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil //nolint:nilerr // the end
		}
		*lines = append(*lines, line)
		var message struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal([]byte(line), &message) != nil || message.ID == nil || message.Method == "" {
			continue
		}
		result := `"result":{}`
		switch message.Method {
		case mcp.MethodInitialize:
			result = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
		case mcp.MethodDiscover:
			result = `"error":{"code":-32601,"message":"Method not found"}`
		case mcp.MethodPromptsList: // the replies take longer than the wait for one answer
			for i := range 25 {
				if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i); err != nil {
					return err
				}
			}
		case mcp.MethodToolsList:
			result = `"result":{"tools":[{"name":"read","annotations":{"readOnlyHint":true}},{"name":"write"}]}`
		}
		if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", message.ID, result); err != nil {
			return err
		}
	}
}
