package answer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// samplerBytes bounds what a sampler may print.
const samplerBytes = 8 << 20

// samplerGrace is how long the output of a sampler that was stopped is waited for.
const samplerGrace = 2 * time.Second

// sample runs the command of --sampler. The person chose it, which is the consent.
func (a *Answers) sample(ctx context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
	request, err := mcp.Marshal(r.Params)
	if err != nil {
		return nil, err
	}
	a.console.Step("%s asks for a message of a model, of %d messages", r.From.Server, len(r.Params.Messages))
	result, err := a.run(ctx, request)
	if err != nil && ctx.Err() == nil {
		a.console.Warn("--sampler: %v", err)
	}
	return result, err
}

func (a *Answers) run(ctx context.Context, request []byte) (*mcp.CreateMessageResult, error) {
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], a.sampler) //nolint:gosec // it is the user's own command
	ownGroup(cmd)
	cmd.WaitDelay = samplerGrace
	cmd.Stdin = bytes.NewReader(append(request, '\n'))
	out := &bounded{most: samplerBytes}
	stderr := &bounded{most: 64 << 10, drop: true}
	cmd.Stdout, cmd.Stderr = out, stderr
	err := cmd.Run()
	if out.over {
		return nil, errTooLong // whatever the command makes of a closed pipe
	}
	if err != nil {
		if said := strings.TrimSpace(string(stderr.kept)); said != "" {
			err = fmt.Errorf("%w; stderr: %s", err, visible.Cut(said[strings.LastIndexByte(said, '\n')+1:], 200))
		}
		return nil, err
	}
	return messageOf(out.kept)
}

// messageOf reads what a sampler printed: the result of sampling as JSON, or the text of it.
func messageOf(out []byte) (*mcp.CreateMessageResult, error) {
	text := strings.TrimSpace(string(out))
	if text == "" {
		return nil, errors.New("the command printed nothing")
	}
	result := &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "sampler", StopReason: "endTurn"}
	if v, err := doc.Parse([]byte(text)); err == nil && v.Get("content") != nil {
		if v.Get("role") == nil {
			v.Set("role", doc.Text(string(result.Role)))
		}
		if v.Get("model") == nil {
			v.Set("model", doc.Text(result.Model))
		}
		if err := mcp.Unmarshal(v.AppendJSON(nil), result); err != nil {
			return nil, fmt.Errorf("the command printed no result of sampling: %w", err)
		}
		return result, nil
	}
	result.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	return result, nil
}

// bounded keeps at most so many bytes. More are an error, or are dropped. It has no ReadFrom, which
// would be called instead of Write.
type bounded struct {
	kept       []byte
	most       int
	drop, over bool
}

var errTooLong = errors.New("the command printed more than 8 MiB, and its answer was not sent")

// Write implements [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	b.over = b.over || len(b.kept)+len(p) > b.most
	switch {
	case !b.over:
		b.kept = append(b.kept, p...)
	case !b.drop:
		return 0, errTooLong
	}
	return len(p), nil
}
