package auth_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The tests run as other processes, too: with childVariable they do only the work it names.
const childVariable = "MAINSTAY_TEST_AUTH_CHILD"

// notLoggedIn is the exit code of a process that needs a login.
const notLoggedIn = 4

// hung ends a process that would run forever, such as one whose counterpart was lost.
const hung = 3 * time.Minute

// child is the main of another process that uses the tokens in a folder, and asks nobody.
func child(work, url, folder string) int {
	err := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), hung) //nolint:forbidigo // this is the main of another process
		defer cancel()
		store, err := auth.OpenFiles(folder)
		if err != nil {
			return err
		}
		if work == "answered" {
			store = stopping{store}
		}
		c, err := client.Dial(ctx, url, client.WithAuthorizer(auth.Login(auth.WithStore(store), auth.WithoutLogin())), client.WithProtocolVersion("2025-11-25"))
		if err != nil {
			return err
		}
		works := map[string]func(context.Context, *client.Client) error{"many": many, "once": once, "answered": once, "forever": forever}
		return errors.Join(works[work](ctx, c), c.Close())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	switch {
	case errors.Is(err, auth.ErrNotLoggedIn):
		return notLoggedIn
	case err != nil:
		return 1
	}
	return 0
}

func echo(ctx context.Context, c *client.Client) (text string, err error) {
	result, err := c.CallTool(ctx, "echo", json.RawMessage(`{}`))
	tell(result, err)
	if err != nil {
		return "", err
	}
	return result.Content[0].(*mcp.TextContent).Text, nil
}

func once(ctx context.Context, c *client.Client) error {
	_, err := echo(ctx, c)
	return err
}

// many calls from 50 goroutines until the server has enough, and prints how many calls succeeded.
func many(ctx context.Context, c *client.Client) error {
	const goroutines = 50
	var calls atomic.Int64
	faults := make([]error, goroutines)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for {
				text, err := echo(ctx, c)
				if err != nil {
					faults[i] = err
					return
				}
				calls.Add(1)
				if text == "enough" {
					return
				}
			}
		})
	}
	wg.Wait()
	fmt.Println(calls.Load())
	return errors.Join(faults...)
}

// forever prints a line for each call.
func forever(ctx context.Context, c *client.Client) error {
	for {
		if err := once(ctx, c); err != nil {
			return err
		}
		fmt.Println("called")
	}
}

// stopping is a store whose process stops forever when a new token was issued, before it is
// written.
type stopping struct{ auth.Store }

func (s stopping) Update(ctx context.Context, key auth.Key, change func(auth.Record) (auth.Record, error)) error {
	return s.Store.Update(ctx, key, func(r auth.Record) (auth.Record, error) {
		next, err := change(r)
		if next.Token.Refresh.Text() != r.Token.Refresh.Text() {
			fmt.Println("answered")
			_, _ = io.Copy(io.Discard, os.Stdin) // which never ends
		}
		return next, err
	})
}

func begin(t *testing.T, work, url, folder string) (cmd *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.Command(program, url, folder)
	cmd.Env = append(os.Environ(), childVariable+"="+work)
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe()
	require.NoError(t, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // of a test that failed
	return cmd, bufio.NewReader(pipe)
}

// exit is the exit code of a process that does some work.
func exit(t *testing.T, work, url, folder string) int {
	t.Helper()
	cmd, out := begin(t, work, url, folder)
	_, err := io.Copy(io.Discard, out)
	require.NoError(t, err)
	_ = cmd.Wait() // the exit code says it
	return cmd.ProcessState.ExitCode()
}

// loggedIn logs somebody in, and returns the folder with the tokens.
func loggedIn(t *testing.T, w *authtest.World, folder string) auth.Store {
	t.Helper()
	store, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	_, err = dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	return store
}

// TestTwoProcesses: two processes with 50 goroutines each call a server whose tokens expire
// repeatedly. Each expiry leads to one refresh. Each call is answered, and runs once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Every, w.Expiries = 50, 20
	if os.Getenv("MAINSTAY_SOAK") != "" {
		w.Expiries = 200
	}
	folder := filepath.Join(t.TempDir(), "tokens")
	store := loggedIn(t, w, folder)
	one, counts := begin(t, "many", w.MCP.URL+"/mcp", folder)
	two, others := begin(t, "many", w.MCP.URL+"/mcp", folder)
	var texts [2][]byte
	var wg sync.WaitGroup
	for i, out := range []*bufio.Reader{counts, others} {
		wg.Go(func() {
			texts[i], _ = io.ReadAll(out) // the exit code below shows a failure
			w.Abandon()                   // else the other one would call forever
		})
	}
	wg.Wait()
	calls := 0
	for _, text := range texts {
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		require.Positive(t, n)
		calls += n
	}
	require.NoError(t, one.Wait())
	require.NoError(t, two.Wait())

	require.Equal(t, w.Expiries, w.Expired)
	require.Equal(t, w.Expired, w.Asked("refresh_token"))
	require.Zero(t, w.Lost())
	require.Equal(t, 1, w.Asked("authorize"))
	require.GreaterOrEqual(t, calls, w.Every*w.Expiries)
	require.Len(t, w.Seen, calls)
	for id, times := range w.Seen {
		require.Equal(t, 1, times, id)
	}
	keys, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	t.Logf("%d calls, %d expiries, %d refreshes", calls, w.Expired, w.Asked("refresh_token"))
}

// TestKilled kills a process at any moment while tokens expire all the time. The next process
// continues, or reports at once that a person has to log in. The latter happens if the process was
// killed between the answer of the authorization server and the write of the token.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := 10
	if os.Getenv("MAINSTAY_SOAK") != "" {
		kills = 150
	}
	w := authtest.New(t)
	w.Every, w.Expiries = 2, 1<<30
	url, folder := w.MCP.URL+"/mcp", filepath.Join(t.TempDir(), "tokens")
	store := loggedIn(t, w, folder)
	logins := 0
	for range kills {
		cmd, out := begin(t, "forever", url, folder)
		for range 1 + rand.IntN(10) {
			_, err := out.ReadString('\n')
			require.NoError(t, err)
		}
		// A busy wait: the process must stop anywhere in a call, and timers are too coarse.
		for until := time.Now().Add(rand.N(2 * time.Millisecond)); time.Now().Before(until); {
		}
		require.NoError(t, cmd.Process.Kill())
		_, err := io.Copy(io.Discard, out)
		require.NoError(t, err)
		_ = cmd.Wait() // it was killed
		w.Abandon()

		keys, err := store.List(t.Context())
		require.NoError(t, err)
		require.Len(t, keys, 1)
		left, err := store.Load(t.Context(), keys[0])
		require.NoError(t, err)
		switch code := exit(t, "once", url, folder); code {
		case 0:
		case notLoggedIn:
			require.Equal(t, 2, w.Sent()[left.Token.Refresh.Text()], "the killed process did not use the token")
			loggedIn(t, w, folder)
			logins++
			now, err := store.List(t.Context())
			require.NoError(t, err)
			if len(now) > 1 { // another process has the port of the login before, so this one registered again
				require.NoError(t, store.Delete(t.Context(), keys[0]))
			}
		default:
			require.Fail(t, "the next process fails", code)
		}
	}
	for id, times := range w.Runs() {
		require.Equal(t, 1, times, id)
	}
	// Once by the killed process, and once by the next one, in either order: the server may
	// read the request of a process after the process was killed.
	for _, times := range w.Sent() {
		require.LessOrEqual(t, times, 2)
	}
	t.Logf("%d kills, %d refresh tokens lost", kills, logins)
}

// TestKilledBeforeTheRequestIsRead kills a process whose refresh the authorization server reads
// only after the next process has renewed the token. The late one is refused, and nobody has to
// log in.
func TestKilledBeforeTheRequestIsRead(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", filepath.Join(t.TempDir(), "tokens")
	loggedIn(t, w, folder)
	arrived, read, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	next := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" && first.CompareAndSwap(false, true) {
			defer close(answered)
			body, _ := io.ReadAll(r.Body) // while the connection is open
			r.Body = io.NopCloser(bytes.NewReader(body))
			close(arrived)
			select {
			case <-read:
			case <-t.Context().Done(): // the test failed
			}
		}
		next.ServeHTTP(rw, r)
	})
	w.Revoke()
	cmd, _ := begin(t, "once", url, folder)
	wait := func(done <-chan struct{}) {
		t.Helper()
		select {
		case <-done:
		case <-time.After(hung):
			require.Fail(t, "the authorization server got no request")
		}
	}
	wait(arrived)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed

	require.Zero(t, exit(t, "once", url, folder))
	require.Zero(t, w.Lost())
	close(read)
	wait(answered)
	require.Equal(t, 1, w.Lost(), "the request of the killed process")
	w.Revoke()
	require.Zero(t, exit(t, "once", url, folder), "the token of the second process is still good")
	require.Equal(t, 1, w.Lost())
	require.Equal(t, 1, w.Asked("authorize"))
}

// TestKilledBeforeTheWrite kills a process that has a new token, and has not written it.
func TestKilledBeforeTheWrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		grace bool
		code  int
	}{
		{"the old refresh token is spent", false, notLoggedIn},
		{"the authorization server takes it once more", true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Grace = test.grace
			url, folder := w.MCP.URL+"/mcp", filepath.Join(t.TempDir(), "tokens")
			loggedIn(t, w, folder)
			w.Revoke()
			cmd, out := begin(t, "answered", url, folder)
			line, err := out.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "answered\n", line)
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait() // it was killed
			require.Equal(t, 1, w.Asked("refresh_token"))

			w.Revoke() // the access token of the lost answer, too
			require.Equal(t, test.code, exit(t, "once", url, folder))
			require.Equal(t, 2, w.Asked("refresh_token"))
			if test.code == 0 {
				return
			}
			require.Equal(t, notLoggedIn, exit(t, "once", url, folder))
			require.Equal(t, 2, w.Asked("refresh_token"), "a token that is known to be lost is not sent again")
			loggedIn(t, w, folder)
			require.Equal(t, 2, w.Asked("authorize"))
			require.Equal(t, 1, w.Asked("register"), "the registration is still good")
			require.Zero(t, exit(t, "once", url, folder))
		})
	}
}

// A token that another process obtained may be old by now: it is renewed, too.
func TestTokenOfAnotherIsOld(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	one, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	two, err := dial(t, w, auth.Login(auth.WithStore(store), auth.WithoutLogin()))
	require.NoError(t, err)
	w.Revoke()
	require.NoError(t, once(t.Context(), one))
	w.Revoke()
	require.NoError(t, once(t.Context(), two))
	require.Equal(t, 2, w.Asked("refresh_token"))
	require.Zero(t, w.Lost())
}
