package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"syscall"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/mutants"
)

// rig starts the reference server as a program: over HTTP one for each mutant,
// over stdio one for each conversation.
func rig(program string) mutants.Rig {
	return mutants.Rig{
		Path: "/mcp",
		HTTP: func(ctx context.Context) (http.Handler, func(), error) { return startHTTP(ctx, program) },
		Stdio: func(context.Context) (mutants.Serve, func(), error) {
			return func(ctx context.Context, in io.Reader, out io.Writer) error {
				cmd := exec.CommandContext(ctx, program)
				cmd.Stdin, cmd.Stdout = in, out
				return cmd.Run()
			}, func() {}, nil
		},
	}
}

// startHTTP starts the program on a free port, which it says in its log. It may use the
// repositories that the suite makes, which are temporary folders.
func startHTTP(ctx context.Context, program string) (http.Handler, func(), error) {
	cmd := exec.CommandContext(ctx, program, "--http", "127.0.0.1:0", "--repos", os.TempDir())
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	target := ""
	for target == "" && lines.Scan() {
		var said struct{ Event, URL string }
		if json.Unmarshal(lines.Bytes(), &said) == nil && said.Event == "listening" {
			target = said.URL
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() {
		}
	}()
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-drained
		_ = cmd.Wait() // how it ends is judged elsewhere
	}
	base, err := url.Parse(target)
	if err != nil || target == "" {
		stop()
		return nil, nil, errors.New("the reference server did not say where it listens")
	}
	base.Path = ""
	forward := httputil.NewSingleHostReverseProxy(base)
	forward.FlushInterval = -1
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	return forward, stop, nil
}
