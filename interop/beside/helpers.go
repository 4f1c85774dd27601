package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// helpers are the programs that this one starts itself as. Each ends with its stdin, so
// that none outlives the play, however that ends.
var helpers = map[string]func(ctx context.Context, args []string, stderr io.Writer) int{
	"effects": serveEffects,
	"burner":  burnCPU,
}

// helper is a running helper.
type helper struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func startHelper(self string, args ...string) (*helper, error) {
	cmd := exec.Command(self, args...) //nolint:noctx // it ends with its stdin
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &helper{cmd, stdin}, nil
}

// kill ends the helper at once, as a crash would. A helper that did not start is nil.
func (h *helper) kill() {
	if h == nil {
		return
	}
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
	_ = h.stdin.Close()
}

// burn keeps n cores busy until stop is called.
func burn(self string, n int) (stop func(), err error) {
	var burners []*helper
	stop = func() {
		for _, b := range burners {
			b.kill()
		}
	}
	for range n {
		b, err := startHelper(self, "burner")
		if err != nil {
			stop()
			return nil, err
		}
		burners = append(burners, b)
	}
	return stop, nil
}

func burnCPU(ctx context.Context, _ []string, _ io.Writer) int {
	go func() {
		for ctx.Err() == nil {
			continue // keeping a core busy is all it is for
		}
	}()
	<-stdinEnds()
	return 0
}

// stdinEnds is closed when the program that started this one closes the pipe, or ends.
func stdinEnds() <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ended
}

// effectTime is how long a call of the tool effect takes, half before and half after its
// effect, so that a crash finds calls in both halves.
const effectTime = 40 * time.Millisecond

// serveEffects is a server of go-sdk that keeps sessions: effects ADDRESS FILE. Its tool
// effect appends the id of the call to the file.
func serveEffects(_ context.Context, args []string, stderr io.Writer) int {
	stopped := make(chan error, 1)
	go func() { stopped <- listenEffects(args) }()
	select {
	case err := <-stopped:
		fmt.Fprintln(stderr, "effects:", err)
		return exitUsage
	case <-stdinEnds():
		return 0
	}
}

func listenEffects(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want ADDRESS FILE, not %q", args)
	}
	file, err := os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	type in struct {
		ID string `json:"id"`
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "effects", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "effect", Description: "Appends id to a file."},
		func(ctx context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
			pause(ctx, effectTime/2)
			if _, err := fmt.Fprintln(file, in.ID); err != nil {
				return nil, nil, err
			}
			pause(ctx, effectTime/2)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.ID}}}, nil, nil
		})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	return http.ListenAndServe(args[0], handler)
}
