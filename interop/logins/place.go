package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// place is a running authorization server with the MCP server behind it.
type place struct {
	*server

	stage       *stage
	issuer, url string // of the MCP server
	tap         *tap   // nil for the demo
	backend     string // the authorization server itself, behind the tap
	folder      string
	programs    []*program
}

// starting bounds the start of a server.
const starting = 30 * time.Second

// open starts the server.
func (s *server) open(ctx context.Context, st *stage) (_ *place, err error) {
	p := &place{server: s, stage: st}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.folder, err = os.MkdirTemp(st.work, "place"); err != nil {
		return nil, err
	}
	if s.demo {
		return p, p.openDemo(ctx, st)
	}
	p.tap = newTap()
	p.issuer = p.tap.URL
	authorization, backend, err := startListener(ctx, append(s.argv(st), p.issuer), filepath.Join(p.folder, "authorization.log"))
	p.programs = append(p.programs, authorization)
	if err != nil {
		return nil, err
	}
	p.backend = backend
	if p.url = p.issuer + "/mcp"; s.guarded {
		var guarded *program
		guarded, p.url, err = startListener(ctx, []string{
			st.bin + "/refserver", "--http", "127.0.0.1:0", "--families", "fixtures", "--oauth-issuer", p.issuer,
			"--oauth-scope", "mcp:read", "--oauth-tool-scope", strings.Fields(guardedWrite)[0] + "=mcp:write",
		}, filepath.Join(p.folder, "refserver.log"))
		p.programs = append(p.programs, guarded)
		if err != nil {
			return nil, err
		}
		if err := p.control(ctx, "resource?url="+p.url); err != nil {
			return nil, err
		}
	}
	return p, p.tap.forward(backend)
}

// openDemo starts the example of the TypeScript SDK on two ports that are free.
func (p *place) openDemo(ctx context.Context, st *stage) error {
	ports, err := freePorts(ctx, 2)
	if err != nil {
		return err
	}
	argv := []string{st.node, st.mjs + "/node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js", "--oauth", "--oauth-strict"}
	demo, err := startProgram(argv, []string{"MCP_PORT=" + ports[0], "MCP_AUTH_PORT=" + ports[1]}, filepath.Join(p.folder, "demo.log"))
	p.programs = append(p.programs, demo)
	if err != nil {
		return err
	}
	p.issuer, p.url = "http://localhost:"+ports[1], "http://localhost:"+ports[0]+"/mcp"
	for _, port := range ports {
		if err := listening(ctx, port); err != nil {
			return err
		}
	}
	return nil
}

func (p *place) close() {
	for _, program := range p.programs {
		program.kill()
	}
	if p.tap != nil {
		p.tap.Close()
	}
}

// control tells the authorization server how to behave.
func (p *place) control(ctx context.Context, what string) error {
	if p.demo {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.backend+"/control/"+what, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("%s answers %s: %s", what, resp.Status, text)
	}
	return nil
}

// program is a running server. It ends with its stdin, and what it prints goes to a file.
type program struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	log   string
	ended chan struct{}
}

func startProgram(argv, env []string, log string) (*program, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it lives until kill
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), file, file
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{cmd, stdin, log, make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
	}()
	return p, nil
}

func (p *program) kill() {
	if p == nil {
		return
	}
	_ = p.stdin.Close()
	_ = p.cmd.Process.Kill()
	<-p.ended
}

var listens = regexp.MustCompile(`"event":"listening","url":"([^"]+)"`)

// startListener starts a server and returns the URL that it prints.
func startListener(ctx context.Context, argv []string, log string) (*program, string, error) {
	p, err := startProgram(argv, nil, log)
	if err != nil {
		return nil, "", err
	}
	ctx, stop := context.WithTimeout(ctx, starting)
	defer stop()
	for {
		text, err := os.ReadFile(log)
		if err != nil {
			return p, "", err
		}
		if found := listens.FindSubmatch(text); found != nil {
			return p, string(found[1]), nil
		}
		select {
		case <-p.ended:
			err = errors.New("it ended")
		default:
			err = pause(ctx, 20*time.Millisecond)
		}
		if err != nil {
			return p, "", fmt.Errorf("%s: %w: %s", strings.Join(argv[:2], " "), err, text)
		}
	}
}

// freePorts returns ports that are free now. They differ, because all are held at once.
func freePorts(ctx context.Context, n int) (ports []string, err error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range n {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		held = append(held, l)
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports, nil
}

// listening waits until something listens at a port.
func listening(ctx context.Context, port string) error {
	ctx, stop := context.WithTimeout(ctx, starting)
	defer stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", "localhost:"+port)
		if err == nil {
			return conn.Close()
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("nothing listens at port %s: %w", port, err)
		}
	}
}

// pause waits for d. Its error is the context's.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
