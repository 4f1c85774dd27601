package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// Bounds of an answer of a provider.
const (
	// Timeout is how long a provider may take.
	Timeout  = 60 * time.Second
	maxReply = 1 << 20
)

// New returns the provider at an http or https address, or else the program of that
// name or path. The program gets the request as JSON on standard input and writes its
// answer to standard output; the address gets it by POST, and its body is the answer.
func New(target string) Provider {
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		// A redirect would carry the code elsewhere.
		return &web{target, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	}
	return program(target)
}

// Ask asks a provider and judges the form of its answer.
func Ask(ctx context.Context, p Provider, r Request) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("no answer within %s", Timeout))
	defer cancel()
	text, err := p.Answer(ctx, r)
	text = strings.TrimSpace(text)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	case text == "":
		return "", errors.New("the answer is empty")
	case len(text) > maxReply:
		return "", fmt.Errorf("the answer is longer than %d bytes", maxReply)
	case r.Command == "verify" && !strings.HasPrefix(text, "PASS - ") && !strings.HasPrefix(text, "FAIL - "):
		return "", errors.New(`the answer to verify begins with neither "PASS - " nor "FAIL - "`)
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// program is a program on this machine, started for each request without a shell.
type program string

// Answer implements [Provider].
func (p program) Answer(ctx context.Context, r Request) (string, error) {
	in, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, string(p)) //nolint:gosec // the user named it
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(in), 5*time.Second
	out := &bounded{}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the program failed: %w", err)
	}
	return out.String(), nil
}

// bounded keeps the begin of what is written to it, a byte more than an answer may have.
type bounded struct{ bytes.Buffer }

// Write implements [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), max(0, maxReply+1-b.Len()))]) // a buffer takes all
	return len(p), nil
}

// web is a server.
type web struct {
	url    string
	client *http.Client
}

// Answer implements [Provider].
func (w *web) Answer(ctx context.Context, r Request) (string, error) {
	in, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(in))
	if err != nil {
		return "", errors.New("the address is malformed")
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := w.client.Do(req)
	if err != nil {
		return "", errors.New("the address cannot be reached")
	}
	defer func() { _ = res.Body.Close() }() // read only
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the address answered with status %d", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	return string(body), err
}
