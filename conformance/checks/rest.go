package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// restClient speaks to the services of a server, Task Tracking and ID
// Management. It belongs to one trial.
type restClient struct {
	tasksURL, idsURL, key string
	wait                  time.Duration
	trace                 *wire.Trace
	http                  *http.Client
}

// restReply is what a service answered.
type restReply struct {
	status  int
	header  http.Header
	members map[string]json.RawMessage
	raw     string
}

// maxService bounds the answer of a service.
const maxService = 4 << 20

// rest returns a client of the server's services, and nil with a skip of all
// checks when nothing says where they are.
func rest(t *conformance.Trial) (*restClient, error) {
	f := t.Rev.Fixtures
	if f.TasksURL != "" && f.IDsURL != "" {
		return reach(t, &restClient{tasksURL: f.TasksURL, idsURL: f.IDsURL, key: f.APIKey}), nil
	}
	s, err := t.Shared()
	if err != nil {
		return nil, err
	}
	return restOf(t, s)
}

// restOf is rest for the services of one session's program.
func restOf(t *conformance.Trial, s *wire.Session) (*restClient, error) {
	c := &restClient{}
	c.learn(t.Ctx, s)
	if c.tasksURL == "" || c.idsURL == "" {
		for _, check := range t.Scenario.Checks {
			t.Skip(check.ID, conformance.SkipControl, "no log line services_started says where the services are")
		}
		return nil, nil //nolint:nilnil // all checks are decided
	}
	return reach(t, c), nil
}

// reach makes a client ready whose services are known.
func reach(t *conformance.Trial, c *restClient) *restClient {
	c.wait, c.trace, c.http = t.Rev.Opts.Answer, wire.NewTrace(), &http.Client{Transport: &http.Transport{}}
	t.OnFinish(c.http.CloseIdleConnections)
	t.Trace, t.Mark = c.trace, 0
	return c
}

// learn reads where a program's services are from the line it logs when it has
// started them.
func (c *restClient) learn(ctx context.Context, s *wire.Session) {
	eventually(ctx, wire.Lag, func() bool {
		for _, line := range logLines(s.Conn.Stderr()) {
			if rawjson.Text(line["event"]) == "services_started" {
				c.tasksURL, c.idsURL = rawjson.Text(line["tasks_url"]), rawjson.Text(line["ids_url"])
			}
		}
		return c.tasksURL != ""
	})
}

// do sends one request; path begins with /tasks or /ids or is, for the health of one
// of them, a whole URL.
func (c *restClient) do(ctx context.Context, method, path string, body any) (restReply, error) {
	return c.send(ctx, method, path, body, c.authorization())
}

func (c *restClient) authorization() string {
	if c.key == "" {
		return ""
	}
	return "Bearer " + c.key
}

// send is do with an Authorization header of the caller's own, "" for none.
func (c *restClient) send(ctx context.Context, method, path string, body any, authorization string) (restReply, error) {
	var data []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		data = b
	default:
		data = rawjson.Encode(b)
	}
	address := path
	switch {
	case strings.HasPrefix(path, "/tasks"):
		address = c.tasksURL + path
	case strings.HasPrefix(path, "/ids"):
		address = c.idsURL + path
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(data))
	if err != nil {
		return restReply{}, err
	}
	if data != nil {
		req.Header.Set("Content-Type", wire.MediaJSON)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	c.trace.Add(wire.ToServer, data, &wire.HTTPInfo{Method: method}, method+" "+path)
	resp, err := c.http.Do(req)
	if err != nil {
		return restReply{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or of no more use
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxService))
	if err != nil {
		return restReply{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	c.trace.Add(wire.FromServer, raw, &wire.HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type")}, "")
	out := restReply{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	out.members, _ = rawjson.Object(raw)
	return out, nil
}

// describe says in a line what a service answered.
func (r restReply) describe(err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", r.status, rawjson.Clip(strings.TrimSpace(r.raw), 200))
}

// says reports whether the answer is a refusal with a status and a text in the
// keys of both seeds.
func (r restReply) says(err error, status int, part string) bool {
	return err == nil && r.status == status && strings.Contains(rawjson.Text(r.members["detail"]), part) &&
		strings.Contains(rawjson.Text(r.members["error"]), part) && string(r.members["success"]) == "false"
}

// list reads a member that is a list of strings.
func (r restReply) list(member string) []string {
	var out []string
	_ = json.Unmarshal(r.members[member], &out) // no list: the check says so
	return out
}

// member reads a member that is an object.
func (r restReply) member(name string) map[string]json.RawMessage {
	m, _ := rawjson.Object(r.members[name])
	return m
}
