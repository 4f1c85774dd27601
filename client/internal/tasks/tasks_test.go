package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// server is both the client and the server of a task.
type server struct {
	t       *testing.T
	core    core.Core
	began   time.Time
	answers []string // of tasks/get, the last one repeats; "!" starts an error
	result  string   // of tasks/result
	sent    []string // methods, with the seconds since the start
	asked   []mcp.InputRequests
	ended   int
}

// following returns a task with these answers of the server.
func following(t *testing.T, stateless bool, answers ...string) (*server, *Task) {
	t.Helper()
	s := &server{t: t, began: time.Now(), answers: answers}
	s.core.Server, s.core.Log = "srv", slog.New(slog.DiscardHandler)
	s.core.Life.Begin()
	f := New(&s.core, Config{
		Name: func(r Ref, err error) error { return errormap.From(err, mcperrors.Unknown) },
		Refused: func(_ string, rpc *jsonrpc.Error) *mcperrors.Error {
			return mcperrors.New(mcperrors.CodeProcessingTimeout, mcperrors.KindServer, mcperrors.Rejected, rpc.Message, rpc)
		},
	})
	task := f.Known(Handle{
		ID: "t-1", Tool: "x", Stateless: stateless, Call: s,
	})
	return s, task
}

func failure(kind mcperrors.Kind, text string) *mcperrors.Error {
	return mcperrors.New(mcperrors.CodeUnavailable, kind, mcperrors.Answered, text, errors.New(text))
}

func (s *server) Ended(context.Context) { s.ended++ }

func (s *server) Send(_ context.Context, method string, answers mcp.InputResponses) (json.RawMessage, error) {
	sent := fmt.Sprintf("%s@%v", method, time.Since(s.began))
	for key := range answers {
		sent += " " + key
	}
	s.sent = append(s.sent, sent)
	switch method {
	case mcp.MethodTasksGet:
		answer := s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
		if text, failed := strings.CutPrefix(answer, "!"); failed {
			e := failure(mcperrors.KindTransport, text)
			e.Retryable = text == "lost"
			return nil, e
		}
		return json.RawMessage(answer), nil
	case mcp.MethodTasksResult:
		return json.RawMessage(s.result), nil
	}
	return json.RawMessage(`{}`), nil
}

func (s *server) Answer(_ context.Context, requests mcp.InputRequests) (mcp.InputResponses, error) {
	s.asked = append(s.asked, requests)
	responses := mcp.InputResponses{}
	for key := range requests {
		responses[key] = json.RawMessage(`{}`)
	}
	return responses, nil
}

// state is an answer to tasks/get in both forms.
func state(status string, more ...string) string {
	return `{"taskId":"t-1","status":"` + status + `","createdAt":"","lastUpdatedAt":"","ttl":null,"ttlMs":null` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// The requests for a task and their times, as a table.
func TestFollow(t *testing.T) {
	t.Parallel()
	const question = `"inputRequests":{"a":{"method":"roots/list"}}`
	for name, tt := range map[string]struct {
		stateless bool
		answers   []string
		sent      []string
		outcome   string
		fault     string // in the error
	}{
		"at once, with the outcome": {
			true,
			[]string{state("completed", `"result":{"a":1}`)},
			[]string{"tasks/get@0s"},
			`{"a":1}`, "",
		},
		"the outcome is fetched": {
			false,
			[]string{state("working"), state("completed")},
			[]string{"tasks/get@0s", "tasks/get@1s", "tasks/result@1s"},
			`{"fetched":1}`, "",
		},
		"no more often than the server wants": {
			true,
			[]string{state("working", `"pollIntervalMs":5000`), state("working", `"pollIntervalMs":1`), state("completed", `"result":{}`)},
			[]string{"tasks/get@0s", "tasks/get@5s", "tasks/get@6s"},
			`{}`, "",
		},
		"a lost poll is repeated": {
			true,
			[]string{"!lost", state("completed", `"result":{}`)},
			[]string{"tasks/get@0s", "tasks/get@1s"},
			`{}`, "",
		},
		"only so often": {
			true,
			[]string{"!lost"},
			[]string{"tasks/get@0s", "tasks/get@1s", "tasks/get@2s", "tasks/get@3s", "tasks/get@4s", "tasks/get@5s"},
			``, "lost",
		},
		"a refused poll is not": {true, []string{"!refused"}, []string{"tasks/get@0s"}, ``, "refused"},
		"another task": {
			true,
			[]string{strings.Replace(state("working"), "t-1", "t-2", 1)},
			[]string{"tasks/get@0s"},
			``, `it is about another task, "t-2"`,
		},
		"each question once": {
			true,
			[]string{state("input_required", question), state("input_required", question), state("completed", `"result":{}`)},
			[]string{"tasks/get@0s", "tasks/update@0s a", "tasks/get@1s", "tasks/get@2s"},
			`{}`, "",
		},
		"questions are asked where the outcome is waited for": {
			false,
			[]string{state("input_required")},
			[]string{"tasks/get@0s", "tasks/result@0s"},
			`{"fetched":1}`, "",
		},
		"cancelled":       {true, []string{state("cancelled")}, []string{"tasks/get@0s"}, ``, "the task was cancelled"},
		"failed":          {true, []string{state("failed", `"error":{"code":-1,"message":"no"}`)}, []string{"tasks/get@0s"}, ``, "no"},
		"without its end": {true, []string{state("completed")}, []string{"tasks/get@0s"}, ``, "without an outcome"},
		"not for ever": {
			true,
			[]string{strings.Replace(state("working"), `"ttlMs":null`, `"ttlMs":2500`, 1)},
			[]string{"tasks/get@0s", "tasks/get@1s", "tasks/get@2s", "tasks/get@3s", "tasks/get@4s"},
			``, "within 2.5s, after which the server may delete it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, task := following(t, tt.stateless, tt.answers...)
				s.result = `{"fetched":1}`
				raw, err := task.Wait(t.Context(), MaxTime)
				synctest.Wait() // cancels the task after its caller has given up
				require.Equal(t, tt.sent, s.sent)
				require.Equal(t, tt.outcome, string(raw))
				if tt.fault == "" {
					require.NoError(t, err)
					require.Equal(t, 1, s.ended)
				} else {
					require.ErrorContains(t, err, tt.fault)
				}
				s.core.Life.End()
			})
		})
	}
}

// A state from before the wait is not requested again.
func TestWaitKnowsTheState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, task := following(t, true, state("completed", `"result":{"a":1}`))
		_, err := task.Status(t.Context())
		require.NoError(t, err)
		raw, err := task.Wait(t.Context(), 0)
		require.NoError(t, err)
		require.JSONEq(t, `{"a":1}`, string(raw))
		require.Len(t, s.sent, 1)
		require.NoError(t, task.Cancel(t.Context()))
		require.Len(t, s.sent, 1, "it has ended")
	})
}

// A hint shortens the pause, and closing the client ends the wait.
func TestHintAndClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, task := following(t, true, state("working", `"pollIntervalMs":60000`))
		go func() {
			time.Sleep(3 * time.Second)
			task.follower.Hint(jsonrpc.Notification{Params: json.RawMessage(`{"taskId":"t-2"}`)})
			task.follower.Hint(jsonrpc.Notification{Params: json.RawMessage(`{"taskId":"t-1"}`)})
			time.Sleep(time.Second)
			s.core.Life.End()
		}()
		_, err := task.Wait(t.Context(), 0)
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err))
		require.Equal(t, []string{"tasks/get@0s", "tasks/get@3s"}, s.sent)
		require.Empty(t, task.follower.hints.waiting)
	})
}
