package keychain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/keychain"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// The library keeps one connection for the whole process, so all work with a keychain is done by
// other processes: this program, with childVariable.
const (
	childVariable = "MAINSTAY_TEST_KEYCHAIN_CHILD"
	program       = "mainstay test"
	secret        = "planted-secret"
)

// child is the main of another process.
func child(work string, args []string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) //nolint:forbidigo // this is the main of another process
	defer cancel()
	works := map[string]func(context.Context, []string) error{"await": await, "put": put, "show": show, "forget": forget, "spoil": spoil, "impatient": impatient}
	if err := works[work](ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if errors.Is(err, keychain.ErrUnavailable) {
			return 2
		}
		return 1
	}
	return 0
}

// await asks the keychain once. What asks before it is open waits for a prompt that nobody shows,
// as long as its process lives.
func await(ctx context.Context, _ []string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		_, err := keyring.Get(program, "nothing")
		answered <- err
	}()
	select {
	case err := <-answered:
		if !errors.Is(err, keyring.ErrNotFound) {
			return err
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func keyOf(principal string) auth.Key {
	return auth.Key{Issuer: "https://as.example", Resource: "https://mcp.example/mcp", ClientID: "c", Principal: principal}
}

// put stores a record for a principal.
func put(ctx context.Context, args []string) error {
	s, err := keychain.Open(ctx, args[0], program)
	if err != nil {
		return err
	}
	return s.Update(ctx, keyOf(args[1]), func(r auth.Record) (auth.Record, error) {
		r.Token.Access.Set(secret + " of " + args[1])
		r.Token.Refresh.Set(strings.Repeat("x", 100_000)) // more than any keychain takes
		return r, nil
	})
}

// show prints the access token of each record.
func show(ctx context.Context, args []string) error {
	s, err := keychain.Open(ctx, args[0], program)
	if err != nil {
		return err
	}
	keys, err := s.List(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		r, err := s.Load(ctx, key)
		if err != nil {
			return err
		}
		fmt.Println(r.Token.Access.Text())
	}
	return nil
}

// forget takes the key out of the keychain.
func forget(_ context.Context, args []string) error { return keyring.Delete(program, args[0]) }

// spoil replaces the key with something else.
func spoil(_ context.Context, args []string) error { return keyring.Set(program, args[0], secret) }

// impatient opens a store with little time.
func impatient(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return put(ctx, args)
}

// do has another process do some work.
func do(t testing.TB, env []string, work string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(append(os.Environ(), env...), childVariable+"="+work)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NotContains(t, errs.String(), secret)
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// opened starts an open keyring that answers.
func opened(t *testing.T) (env []string) {
	t.Helper()
	env = authtest.SecretService(t, true)
	code, stderr := 1, ""
	for tries := 0; code != 0 && tries < 50; tries++ {
		code, _, stderr = do(t, env, "await")
	}
	require.Zero(t, code, stderr)
	return env
}

// TestKeychain: many processes that open a new store at once make one key. Their records are
// longer than a keychain takes, and nobody reads them without the keychain.
func TestKeychain(t *testing.T) {
	t.Parallel()
	env := opened(t)
	folder := filepath.Join(t.TempDir(), "tokens")
	const processes = 6
	var wg sync.WaitGroup
	var want strings.Builder
	for i := range processes {
		name := "p" + strconv.Itoa(i)
		want.WriteString(secret + " of " + name + "\n")
		wg.Go(func() {
			code, _, stderr := do(t, env, "put", folder, name)
			if code != 0 {
				t.Error(stderr)
			}
		})
	}
	wg.Wait()
	code, stdout, stderr := do(t, env, "show", folder)
	require.Zero(t, code, stderr)
	require.Equal(t, want.String(), stdout)

	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, part := range []string{secret, "example", "xxxx"} {
			require.NotContains(t, string(text), part, file)
		}
	}
	plain, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	keys, err := plain.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, keys)

	t.Run("another folder has another key", func(t *testing.T) {
		copied := filepath.Join(t.TempDir(), "tokens")
		require.NoError(t, os.CopyFS(copied, os.DirFS(folder)))
		require.NoError(t, os.Chmod(copied, 0o700))
		for _, file := range files {
			require.NoError(t, os.Chmod(filepath.Join(copied, filepath.Base(file)), 0o600))
		}
		code, _, stderr := do(t, env, "show", copied)
		require.Equal(t, 1, code)
		require.Contains(t, stderr, "sealed with another key; delete the file and log in again")
	})
	t.Run("the key is gone", func(t *testing.T) {
		code, _, stderr := do(t, env, "forget", folder)
		require.Zero(t, code, stderr)
		code, stdout, stderr := do(t, env, "show", folder)
		require.Equal(t, 1, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "sealed with another key; delete the file and log in again")
		code, _, stderr = do(t, env, "put", folder, "new")
		require.Zero(t, code, stderr)
	})
	t.Run("the item is not ours", func(t *testing.T) {
		code, _, stderr := do(t, env, "spoil", folder)
		require.Zero(t, code, stderr)
		code, _, stderr = do(t, env, "show", folder)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "is not the key of this store")
	})
}

// TestLockedKeychain: nobody unlocks the keychain. Open ends, with an error that reports it.
func TestLockedKeychain(t *testing.T) {
	t.Parallel()
	env := authtest.SecretService(t, false)
	code, _, stderr := do(t, env, "impatient", filepath.Join(t.TempDir(), "tokens"), "p")
	require.Equal(t, 2, code, stderr)
	require.Contains(t, stderr, "the keychain of the operating system cannot be used")
}

func TestNoKeychain(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only the Secret Service of Linux can be absent")
	}
	home := t.TempDir()
	code, _, stderr := do(t, []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + home + "/none"}, "put", filepath.Join(home, "tokens"), "p")
	require.Equal(t, 2, code, stderr)
	require.Contains(t, stderr, "the keychain of the operating system cannot be used")
}
