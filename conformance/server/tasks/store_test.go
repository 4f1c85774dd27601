package tasks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// How tasks end, and what tasks/get then has.
func TestOutcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		work   Work
		status status
		result string
		code   int64
		text   string
	}{
		"a result":        {work: answers("42"), status: statusCompleted, result: `{"content":[{"type":"text","text":"42"}],"resultType":"complete"}`},
		"an empty result": {work: func(context.Context, *Task) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil }, status: statusCompleted, result: `{"content":[],"resultType":"complete"}`},
		"a failed tool": {work: func(context.Context, *Task) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true}, nil
		}, status: statusCompleted, result: `{"content":[],"isError":true,"resultType":"complete"}`},
		"a protocol error": {work: func(context.Context, *Task) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -32001, Message: "gone"}
		}, status: statusFailed, code: -32001, text: "gone"},
		"an error of ours": {work: func(context.Context, *Task) (*mcp.CallToolResult, error) { return nil, os.ErrNotExist }, status: statusFailed, code: jsonrpc.CodeInternalError, text: "see the server's log"},
		"a panic":          {work: func(context.Context, *Task) (*mcp.CallToolResult, error) { panic("a bug") }, status: statusFailed, code: jsonrpc.CodeInternalError, text: "see the server's log"},
		"what is not JSON": {work: func(context.Context, *Task) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: func() {}}, nil
		}, status: statusFailed, code: jsonrpc.CodeInternalError, text: "see the server's log"},
		"no result, no err": {work: func(context.Context, *Task) (*mcp.CallToolResult, error) { return nil, nil }, status: statusFailed, code: jsonrpc.CodeInternalError, text: "see the server's log"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, Options{})
				began := time.Now()
				id := start(t, s, "", func(ctx context.Context, task *Task) (*mcp.CallToolResult, error) {
					time.Sleep(time.Second)
					return tt.work(ctx, task)
				})
				d := state(t, s, "", id)
				require.Equal(t, statusWorking, d.Status, "it is known at once")
				require.Equal(t, began.UTC().Format(timeForm), d.CreatedAt)
				require.Equal(t, int64(1_800_000), d.TTLMs)
				require.Equal(t, int64(1000), d.PollIntervalMs)
				require.Nil(t, d.Result)

				time.Sleep(time.Second)
				synctest.Wait()
				d = state(t, s, "", id)
				require.Equal(t, tt.status, d.Status)
				require.Equal(t, began.Add(time.Second).UTC().Format(timeForm), d.LastUpdatedAt)
				if tt.result != "" {
					require.JSONEq(t, tt.result, string(d.Result))
					require.Nil(t, d.Error)
					return
				}
				require.Nil(t, d.Result)
				require.Equal(t, tt.code, d.Error.Code)
				require.Contains(t, d.Error.Message, tt.text)
			})
		})
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		ended := make(chan error, 1)
		id := start(t, s, "", func(ctx context.Context, task *Task) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return said("too late"), nil
		})
		task, err := s.find("", id)
		require.NoError(t, err)
		task.giveUp()
		require.Equal(t, statusCancelled, state(t, s, "", id).Status)
		require.ErrorIs(t, <-ended, context.Canceled)
		synctest.Wait()
		require.Equal(t, statusCancelled, state(t, s, "", id).Status, "what the work came to is lost")
		require.Nil(t, state(t, s, "", id).Result)
		task.giveUp()
		require.Equal(t, statusCancelled, state(t, s, "", id).Status)

		id = start(t, s, "", answers("done"))
		synctest.Wait()
		task, err = s.find("", id)
		require.NoError(t, err)
		task.giveUp()
		require.Equal(t, statusCompleted, state(t, s, "", id).Status, "it has ended")
	})
}

// What a task asks: in parts, twice, wrongly, too late, and again.
func TestInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		var got []mcp.InputResponseMap
		id := start(t, s, "", func(ctx context.Context, task *Task) (*mcp.CallToolResult, error) {
			for range 2 {
				all, err := task.Ask(ctx, mcp.InputRequestMap{"a": question(), "b": question()})
				if err != nil {
					return nil, err
				}
				got = append(got, all)
			}
			none, err := task.Ask(ctx, nil)
			require.Empty(t, none)
			return said("thanks"), err
		})
		synctest.Wait()
		task, err := s.find("", id)
		require.NoError(t, err)
		keys := func() (keys []string) {
			d := state(t, s, "", id)
			require.Equal(t, statusInputRequired, d.Status)
			for key := range d.InputRequests {
				keys = append(keys, key)
			}
			return keys
		}
		first := keys()
		require.Len(t, first, 2)

		require.NoError(t, task.update(raw(map[string]string{"nobody-asked": `{"ignored":true}`})))
		require.ElementsMatch(t, first, keys())
		for name, wrong := range map[string]string{"a number": `5`, "of no kind": `{"ignored":true}`, "of another kind": `{"roots":[]}`, "null": `null`} {
			err := task.update(raw(map[string]string{first[0]: wrong, first[1]: yes}))
			require.ErrorContains(t, err, "does not answer", name)
			require.ElementsMatch(t, first, keys(), "all of them or none")
		}
		require.NoError(t, task.update(raw(map[string]string{first[0]: yes})))
		require.Equal(t, first[1:], keys(), "the answered one has gone")
		require.NoError(t, task.update(raw(map[string]string{first[0]: `{"action":"decline"}`})), "twice")
		require.NoError(t, task.update(raw(map[string]string{first[1]: yes})))
		synctest.Wait()
		second := keys()
		require.Len(t, second, 2)
		require.NotContains(t, first, second[0], "a key names one question of a task")
		require.NotContains(t, first, second[1])
		require.Len(t, got, 1)
		require.Equal(t, "accept", got[0]["a"].(*mcp.ElicitResult).Action)
		require.Equal(t, "accept", got[0]["b"].(*mcp.ElicitResult).Action)

		require.NoError(t, task.update(raw(map[string]string{second[0]: yes, second[1]: yes, first[0]: yes})))
		synctest.Wait()
		require.Equal(t, statusCompleted, state(t, s, "", id).Status)
		require.NoError(t, task.update(raw(map[string]string{second[0]: yes})), "after the end")
		require.Equal(t, statusCompleted, state(t, s, "", id).Status)
	})
}

// A question that nobody answers ends with the task.
func TestCancelWhileAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		ended := make(chan error, 1)
		id := start(t, s, "", func(ctx context.Context, task *Task) (*mcp.CallToolResult, error) {
			_, err := task.Ask(ctx, mcp.InputRequestMap{"a": question()})
			ended <- err
			_, again := task.Ask(ctx, mcp.InputRequestMap{"a": question()})
			require.ErrorIs(t, again, context.Canceled)
			return nil, err
		})
		synctest.Wait()
		task, err := s.find("", id)
		require.NoError(t, err)
		task.giveUp()
		require.ErrorIs(t, <-ended, context.Canceled)
		synctest.Wait()
		d := state(t, s, "", id)
		require.Equal(t, statusCancelled, d.Status)
		require.Empty(t, d.InputRequests)
	})
}

func TestUsersAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		id := start(t, s, "ada", answers("hers"))
		synctest.Wait()
		require.Equal(t, statusCompleted, state(t, s, "ada", id).Status)
		for _, user := range []string{"bob", "", "Ada"} {
			unknown(t, s, user, id)
		}
		for _, other := range []string{"", "..", "../" + id, strings.ToLower(id), id + "\x00", strings.Repeat("x", 1<<20)} {
			unknown(t, s, "ada", other)
		}
		_, err := s.get("ada", strings.Repeat("x", 1<<20))
		require.Less(t, len(err.Error()), 300, "a long id is not sent back")
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{Max: 3, MaxPerUser: 2, TTL: time.Minute})
		start(t, s, "ada", waits)
		start(t, s, "ada", answers("x"))
		_, err := s.Start(t.Context(), Caller{User: "ada"}, waits)
		require.ErrorContains(t, err, "at most 2 tasks")
		start(t, s, "bob", waits)
		_, err = s.Start(t.Context(), Caller{User: "cleo"}, waits)
		require.ErrorContains(t, err, "at most 3 tasks")

		time.Sleep(time.Minute)
		synctest.Wait()
		start(t, s, "ada", waits)
		start(t, s, "ada", waits)
		require.Len(t, files(t, s), 2, "what has expired has gone from the disk")
	})
}

// A task is kept for all of its time, ended or not, and no longer.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{TTL: time.Minute})
		ended := make(chan struct{})
		running := start(t, s, "", func(ctx context.Context, task *Task) (*mcp.CallToolResult, error) {
			defer close(ended)
			return waits(ctx, task)
		})
		done := start(t, s, "", answers("x"))
		time.Sleep(time.Minute - time.Millisecond)
		require.Equal(t, statusWorking, state(t, s, "", running).Status)
		require.Equal(t, statusCompleted, state(t, s, "", done).Status)
		time.Sleep(time.Millisecond)
		<-ended
		synctest.Wait()
		unknown(t, s, "", running)
		unknown(t, s, "", done)
		require.Empty(t, files(t, s))
	})
}

// files returns the names of the tasks on the disk.
func files(t *testing.T, s *Store) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.folder.dir, "[^.]*"))
	require.NoError(t, err)
	return names
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		one, err := Open(Options{Dir: dir, TTL: time.Hour})
		require.NoError(t, err)
		done := start(t, one, "ada", answers("42"))
		failed := start(t, one, "ada", func(context.Context, *Task) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -32001, Message: "gone"}
		})
		running := start(t, one, "ada", waits)
		synctest.Wait()

		// A second process on the folder neither sees nor touches them.
		two := open(t, Options{Dir: dir})
		unknown(t, two, "ada", done)
		id := start(t, two, "ada", answers("elsewhere"))
		synctest.Wait()
		require.Equal(t, statusCompleted, state(t, two, "ada", id).Status)
		require.Equal(t, statusWorking, state(t, one, "ada", running).Status)
		closeStore(t, two)

		time.Sleep(time.Minute)
		closeStore(t, one)
		_, err = one.Start(t.Context(), Caller{}, waits)
		require.ErrorContains(t, err, "being stopped")
		for name, content := range map[string]string{"X.json": "{", "Y.json": `{"id":"Z"}`, "Z.json.part": "{", "note.txt": "mine"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}

		three := open(t, Options{Dir: dir})
		unknown(t, three, "bob", done)
		d := state(t, three, "ada", done)
		require.Equal(t, statusCompleted, d.Status)
		require.Contains(t, string(d.Result), "42")
		require.Equal(t, int64(time.Hour/time.Millisecond), d.TTLMs, "as it was promised")
		require.Equal(t, int64(-32001), state(t, three, "ada", failed).Error.Code)
		d = state(t, three, "ada", running)
		require.Equal(t, statusFailed, d.Status)
		require.Contains(t, d.Error.Message, "the server was stopped")
		require.Len(t, files(t, three), 4, "what is no task is gone; what is not ours stays")

		time.Sleep(time.Hour - time.Minute)
		synctest.Wait()
		unknown(t, three, "ada", done)
	})
}

// A process that is killed writes nothing more.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, Options{Dir: dir})
		id := start(t, s, "", waits)
		other := t.TempDir()
		require.NoError(t, os.CopyFS(other, os.DirFS(dir))) // the disk as it was at that moment
		require.NoError(t, os.Mkdir(filepath.Join(other, ownPrefix+"1"), 0o700))
		again := open(t, Options{Dir: other})
		require.Equal(t, statusFailed, state(t, again, "", id).Status)
		require.NoDirExists(t, filepath.Join(other, ownPrefix+"1"), "that of another one")
	})
}

// The outcome of a task that cannot be written is a failure, and not a task without end.
func TestDiskIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "tasks")
		s := open(t, Options{Dir: dir})
		id := start(t, s, "", func(context.Context, *Task) (*mcp.CallToolResult, error) {
			return said("x"), os.RemoveAll(dir)
		})
		synctest.Wait()
		d := state(t, s, "", id)
		require.Equal(t, statusFailed, d.Status)
		require.Contains(t, d.Error.Message, "could not be kept")
		_, err := s.Start(t.Context(), Caller{}, waits)
		require.ErrorContains(t, err, "keeping a task")
		require.Len(t, s.tasks, 1)
	})
}

// Thousands of tasks at once, which are asked for, cancelled and answered.
func TestManyTasks(t *testing.T) {
	const users, each = 20, 100
	s := open(t, Options{})
	var wg sync.WaitGroup
	for u := range users {
		wg.Go(func() {
			user := fmt.Sprint(u)
			for i := range each {
				work := answers(user)
				if i%2 == 0 {
					work = waits
				}
				res, err := s.Start(t.Context(), Caller{User: user}, work)
				if err != nil {
					t.Errorf("user %s: %v", user, err)
					return
				}
				id := res.Meta[createdKey].(*created).TaskID
				if _, err := s.get(user, id); err != nil {
					t.Errorf("a task that was made is unknown: %v", err)
				}
				if task, err := s.find(user, id); err == nil && i%4 == 0 {
					task.giveUp()
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, users*each, len(s.tasks))     //nolint:testifylint // thousands of tasks say nothing
	closeStore(t, s)                               // until then one may be being written
	require.Equal(t, users*each, len(files(t, s))) //nolint:testifylint // thousands of names say nothing
	again := open(t, Options{Dir: s.opts.Dir})
	counts := map[status]int{}
	for _, task := range again.tasks {
		counts[task.Status]++
	}
	require.Equal(t, map[status]int{statusCompleted: users * each / 2, statusFailed: users * each / 4, statusCancelled: users * each / 4}, counts)
}

// Close waits for the work, but no longer than it may.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(Options{Dir: t.TempDir()})
		require.NoError(t, err)
		release := make(chan struct{})
		start(t, s, "", func(context.Context, *Task) (*mcp.CallToolResult, error) { <-release; return said("x"), nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
		close(release)
		closeStore(t, s)
	})
}
