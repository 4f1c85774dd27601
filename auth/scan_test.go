package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// scanned reports whether this run of the tests is the one whose output is scanned for secrets.
// Then everything that a program could print is printed.
func scanned() bool { return os.Getenv(authtest.SecretsVariable) != "" }

const told = "TOLD "

// tell prints values in every form, and each wrapped error.
func tell(values ...any) {
	if !scanned() {
		return
	}
	for _, v := range values {
		fmt.Fprintf(os.Stderr, told+"%v\n%+v\n%#v\n%q\n%s\n%x\n", v, v, v, v, v, v)
		slog.New(slog.NewJSONHandler(os.Stderr, nil)).Info(told, "value", v)
		if text, err := json.Marshal(v); err == nil {
			fmt.Fprintln(os.Stderr, string(text))
		}
		switch e := v.(type) {
		case interface{ Unwrap() error }:
			if below := e.Unwrap(); below != nil {
				tell(below)
			}
		case interface{ Unwrap() []error }:
			for _, below := range e.Unwrap() {
				tell(below)
			}
		}
	}
}

// meter prints the records of calls and attempts.
type meter struct{}

func (meter) AttemptEnded(r client.AttemptRecord) { tell(r) }
func (meter) CallEnded(r client.CallRecord)       { tell(r) }
func (meter) Observe(s client.Signal)             { tell(s) }

// watched makes a client print everything that it reports.
func watched() []client.Option {
	if !scanned() {
		return nil
	}
	return []client.Option{
		client.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))),
		client.OnEvent(func(_ context.Context, e client.Event) { tell(e) }),
		client.WithTrace(transport.Trace{
			Sent:     func(frame []byte) { fmt.Fprintln(os.Stderr, told+"sent "+string(frame)) },
			Received: func(frame []byte) { fmt.Fprintln(os.Stderr, told+"received "+string(frame)) },
		}),
		client.WithMeter(meter{}),
	}
}

// TestNothingSecretIsTold runs the tests of this package once more, and makes them print all that
// they get: errors, logs, events, traces, records, and all values in every form. Their output has no
// token, code, verifier, secret, key or assertion.
func TestNothingSecretIsTold(t *testing.T) {
	t.Parallel()
	if scanned() {
		t.Skip("this is the run that is scanned")
	}
	if testmain.Race {
		t.Skip("race: to print a client is to read what it works with")
	}
	if os.Getenv("MAINSTAY_SOAK") == "" {
		t.Skip("runs all tests of the package a second time: in the long form only")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	list := filepath.Join(t.TempDir(), "secrets")
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.skip", "^Benchmark")
	cmd.Env = append(os.Environ(), authtest.SecretsVariable+"="+list)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, strings.Join(failures.FindAllString(string(out), -1), "\n")+"\n"+tail(string(out)))
	require.Greater(t, strings.Count(string(out), told), 500, "it would find nothing in nothing")

	text, err := os.ReadFile(list)
	require.NoError(t, err)
	secrets := strings.Fields(string(text))
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 20 }) // some tests assert a word
	secrets = append(secrets, "planted-secret", fmt.Sprintf("%x", "planted-secret"))
	require.Greater(t, len(secrets), 50)
	for line := range strings.Lines(string(out)) {
		for _, s := range secrets {
			if strings.Contains(line, s) {
				t.Errorf("%q is in the output: %s", s, line)
			}
		}
	}
	t.Logf("%d secrets, %d bytes", len(secrets), len(out))
}

// TestDPoPKeyIsNotTold adds the keys of bound tokens to the scan.
func TestDPoPKeyIsNotTold(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	store := auth.NewMemory()
	a := auth.Login(browser(t), auth.WithStore(store), auth.WithDPoP())
	c, err := dial(t, w, a)
	require.NoError(t, err)
	keys, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	record, err := store.Load(t.Context(), keys[0])
	require.NoError(t, err)
	proof := []byte(record.Proof.Text())
	parsed, err := x509.ParsePKCS8PrivateKey(proof)
	require.NoError(t, err)
	d, err := parsed.(*ecdsa.PrivateKey).Bytes()
	require.NoError(t, err)
	forms := []string{
		hex.EncodeToString(d), base64.RawURLEncoding.EncodeToString(d), base64.RawStdEncoding.EncodeToString(proof),
		strings.Trim(fmt.Sprint(d), "[]"), // as a slice of bytes is printed
	}
	authtest.Tell(forms[:3]...)
	w.Revoke()
	require.NoError(t, once(t.Context(), c))
	w.Never = true
	require.Error(t, once(t.Context(), c))
	tell(a, store, keys, record, &record, record.Token, record.Client)
	for _, v := range []any{a, store, record, &record, c} {
		for _, form := range forms {
			require.NotContains(t, fmt.Sprintf("%v %+v %#v %q %x %d", v, v, v, v, v, v), form)
		}
	}
}

// failures matches the names of tests that failed, and the places and reasons of their errors.
var failures = regexp.MustCompile(`(?m)^[ \t]*(--- FAIL|panic:|Error Trace:|Error:).*(\n[ \t]+.*){0,3}`)

func tail(text string) string { return text[max(0, len(text)-4000):] }
