package tasks

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// told is a notification as a client reads it.
type told struct {
	Method string
	Params struct {
		TaskID, Status string
		Meta           map[string]any `json:"_meta"`
		Result         json.RawMessage
		InputRequests  map[string]any
		Notifications  struct{ TaskIDs []string }
	}
}

// subscribe listens as a user, and returns the notifications, the error of the
// subscription, and its end.
func subscribe(t *testing.T, s *Store, caller Caller, ids ...string) (func() []told, <-chan error, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	all := make(chan told, 1000)
	ended := make(chan error, 1)
	go func() {
		res, err := s.listen(ctx, caller, &News{IDs: ids, Subscription: json.RawMessage(`"sub"`), Send: func(b []byte) error {
			var one told
			if err := json.Unmarshal(b, &one); err != nil {
				return err
			}
			all <- one
			return nil
		}})
		if err == nil && string(res.Meta[mcp.MetaKeySubscriptionID].(json.RawMessage)) != `"sub"` {
			err = io.ErrUnexpectedEOF
		}
		ended <- err
	}()
	return func() (news []told) {
		synctest.Wait()
		for len(all) > 0 {
			one := <-all
			require.Equal(t, "sub", one.Params.Meta[mcp.MetaKeySubscriptionID])
			news = append(news, one)
		}
		return news
	}, ended, cancel
}

func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{TTL: time.Hour})
		ada := Caller{User: "ada", Takes: true}
		id := start(t, s, "ada", func(ctx context.Context, task *Task) (*mcp.CallToolResult, error) {
			_, err := task.Ask(ctx, mcp.InputRequestMap{"a": question(), "b": question()})
			return said("done"), err
		})
		other := start(t, s, "bob", waits)
		synctest.Wait() // until it asks
		news, ended, cancel := subscribe(t, s, ada, id, id, other, "unknown")
		first := news()
		require.Len(t, first, 2)
		require.Equal(t, methodAck, first[0].Method)
		require.Equal(t, []string{id}, first[0].Params.Notifications.TaskIDs, "once, and only of the user")
		require.Equal(t, "input_required", first[1].Params.Status)

		task, err := s.find("ada", id)
		require.NoError(t, err)
		var keys []string
		for key := range first[1].Params.InputRequests {
			keys = append(keys, key)
		}
		require.NoError(t, task.update(raw(map[string]string{keys[0]: yes})))
		part := news()
		require.Len(t, part, 1)
		require.Len(t, part[0].Params.InputRequests, 1)
		require.NoError(t, task.update(raw(map[string]string{keys[1]: yes})))
		last := news()
		require.Equal(t, "completed", last[len(last)-1].Params.Status)
		require.Contains(t, string(last[len(last)-1].Params.Result), "done")

		time.Sleep(time.Hour) // it expires
		require.Empty(t, news())
		cancel()
		require.NoError(t, <-ended)
		require.Empty(t, s.watches)
	})
}

// Nobody gets news of a task of another user, and a broken stream ends the rest.
func TestNewsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		id := start(t, s, "ada", answers("x"))
		news, ended, cancel := subscribe(t, s, Caller{User: "bob", Takes: true}, id)
		only := news()
		require.Len(t, only, 1)
		require.Equal(t, []string{}, only[0].Params.Notifications.TaskIDs)
		cancel()
		require.NoError(t, <-ended)

		_, ended, cancel = subscribe(t, s, Caller{User: "ada"}, id)
		defer cancel()
		require.ErrorContains(t, <-ended, "Missing required client capability")
		_, err := s.listen(t.Context(), Caller{User: "ada", Takes: true}, &News{IDs: []string{id}, Send: func([]byte) error { return io.ErrClosedPipe }})
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.Empty(t, s.watches)
	})
}
