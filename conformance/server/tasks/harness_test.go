package tasks

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// open returns a store that the test closes at its end.
func open(t *testing.T, opts Options) *Store {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	s, err := Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	require.NoError(t, s.Close(context.WithoutCancel(t.Context())))
}

// start returns the id of a new task.
func start(t *testing.T, s *Store, user string, work Work) string {
	t.Helper()
	res, err := s.Start(t.Context(), Caller{User: user, Takes: true}, work)
	require.NoError(t, err)
	made, ok := res.Meta[createdKey].(*created)
	require.True(t, ok)
	require.Equal(t, statusWorking, made.Status)
	return made.TaskID
}

// state returns a task as tasks/get answers with it.
func state(t *testing.T, s *Store, user, id string) *detailed {
	t.Helper()
	d, err := s.get(user, id)
	require.NoError(t, err)
	require.Equal(t, typeComplete, d.ResultType)
	require.Equal(t, id, d.TaskID)
	_, err = json.Marshal(d)
	require.NoError(t, err)
	return d
}

// unknown requires that a user does not see a task.
func unknown(t *testing.T, s *Store, user, id string) {
	t.Helper()
	_, err := s.get(user, id)
	require.ErrorContains(t, err, "there is no task")
	_, err = s.find(user, id)
	require.ErrorContains(t, err, "there is no task")
}

func answers(text string) Work {
	return func(context.Context, *Task) (*mcp.CallToolResult, error) { return said(text), nil }
}

// waits is work that ends with its context.
func waits(ctx context.Context, _ *Task) (*mcp.CallToolResult, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func question() *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: "Sure?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}
}

func raw(answers map[string]string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for key, answer := range answers {
		out[key] = json.RawMessage(answer)
	}
	return out
}

const yes = `{"action":"accept","content":{"confirm":true}}`
