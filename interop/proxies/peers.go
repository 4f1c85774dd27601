package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// direction is what is in front of a proxy and what is behind it.
type direction string

const (
	stdioURL   direction = "stdio ← URL"
	urlStdio   direction = "URL ← stdio"
	stdioStdio direction = "stdio ← stdio"
)

// direct is the way without a proxy.
const direct = "no proxy"

// way is a proxy in one direction.
type way struct {
	peer      string
	direction direction
	// argv starts the proxy: behind is the URL of the server, or one shell word for each
	// argument of its program; port is where it listens.
	argv func(s *stage, behind []string, port string) []string
}

func (w *way) name() string { return string(w.direction) + ", " + w.peer }

// urlFront reports whether hosts reach the way by a URL.
func (w *way) urlFront() bool { return w.direction == urlStdio }

const (
	mcpctl       = "mcpctl proxy"
	mcpRemote    = "mcp-remote"
	supergateway = "supergateway"
	mcpProxy     = "mcp-proxy"
)

// ways are the proxies by direction, ours first.
func ways() []way {
	return []way{
		{peer: direct, direction: stdioStdio, argv: func(_ *stage, behind []string, _ string) []string { return behind }},
		{peer: mcpctl, direction: stdioStdio, argv: func(s *stage, behind []string, _ string) []string {
			return slices.Concat([]string{s.mcpctl, "proxy", "--"}, behind)
		}},
		{peer: direct, direction: stdioURL},
		{peer: mcpctl, direction: stdioURL, argv: func(s *stage, behind []string, _ string) []string {
			return []string{s.mcpctl, "proxy", behind[0]}
		}},
		{peer: mcpRemote, direction: stdioURL, argv: func(s *stage, behind []string, _ string) []string {
			return append(s.node(mcpRemote), behind[0])
		}},
		{peer: supergateway, direction: stdioURL, argv: func(s *stage, behind []string, _ string) []string {
			return append(s.node(supergateway), "--streamableHttp", behind[0])
		}},
		{peer: mcpctl, direction: urlStdio, argv: func(s *stage, behind []string, port string) []string {
			return slices.Concat([]string{s.mcpctl, "proxy", "--listen", "127.0.0.1:" + port, "--no-auth", "--"}, behind)
		}},
		{peer: supergateway, direction: urlStdio, argv: func(s *stage, behind []string, port string) []string {
			return append(s.node(supergateway), "--stdio", strings.Join(behind, " "), "--outputTransport", "streamableHttp", "--stateful", "--port", port)
		}},
		{peer: mcpProxy, direction: urlStdio, argv: func(s *stage, behind []string, port string) []string {
			return slices.Concat(s.node(mcpProxy), []string{"--host", "127.0.0.1", "--port", port, "--"}, behind)
		}},
	}
}

// stage is where the programs are.
type stage struct {
	self, mcpctl, refserver string
	packages                string // the folder with node_modules
	work                    string // for files; the caller removes it
	serial                  atomic.Int64
}

// node starts the program of an npm package without npx, which would cost two more
// processes.
func (s *stage) node(name string) []string {
	return []string{"node", filepath.Join(s.packages, "node_modules", name, s.manifest(name).program())}
}

type manifest struct {
	Version string          `json:"version"`
	Bin     json.RawMessage `json:"bin"`
	name    string
}

func (s *stage) manifest(name string) manifest {
	m := manifest{name: name}
	text, err := os.ReadFile(filepath.Join(s.packages, "node_modules", name, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		m.Version = "missing"
	}
	return m
}

func (m manifest) program() string {
	var one string
	if json.Unmarshal(m.Bin, &one) == nil {
		return one
	}
	named := map[string]string{}
	_ = json.Unmarshal(m.Bin, &named) // a package without programs cannot be started, which shows
	return named[m.name]
}

// folder makes a new folder for one play.
func (s *stage) folder() (string, error) {
	path := filepath.Join(s.work, fmt.Sprint(s.serial.Add(1)))
	return path, os.MkdirAll(path, 0o700)
}

// rig is a way that is set up: a server, and a proxy or the command that starts one.
type rig struct {
	stage  *stage
	way    *way
	home   string  // of the proxy: its configuration, tokens and caches
	behind command // the server
	server *process
	proxy  *process // with a URL in front
	front  command  // with stdio in front
	url    string   // with a URL in front
	at     string   // address of the server, with a URL behind
}

func (r *rig) recordFile() string { return filepath.Join(r.home, "record") }

func (r *rig) record() record { return readRecord(r.recordFile()) }

// setUp prepares a way to the planned server, started with arguments. It starts the
// server if that has a URL, and the proxy if that has one.
func (s *stage) setUp(ctx context.Context, w *way, arguments ...string) (*rig, error) {
	home, err := s.folder()
	if err != nil {
		return nil, err
	}
	return s.setUpIn(ctx, home, w, arguments...)
}

func (s *stage) setUpIn(ctx context.Context, home string, w *way, arguments ...string) (*rig, error) {
	r := &rig{stage: s, way: w, home: home}
	argv := slices.Concat([]string{s.self, "server", "-record", r.recordFile()}, arguments)
	return r, r.prepare(ctx, argv, func(address string) []string { return append(argv, "-http", address) }, true)
}

// prepare fills a rig for a server with two commands.
func (r *rig) prepare(ctx context.Context, stdio []string, listen func(address string) []string, waits bool) error {
	r.behind = command{argv: stdio, log: filepath.Join(r.home, "server.log")}
	to := stdio
	if r.way.direction == stdioURL {
		address, err := freeAddress(ctx)
		if err != nil {
			return err
		}
		r.at = address
		r.behind.argv = listen(address)
		to = []string{"http://" + address + "/mcp"}
		if err := r.serve(ctx, waits); err != nil {
			return err
		}
	}
	if r.way.argv == nil {
		r.url = to[0]
		return nil
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	_, port, _ := strings.Cut(address, ":")
	c := command{argv: r.way.argv(r.stage, to, port), env: environment(r.home), log: filepath.Join(r.home, "proxy.log")}
	if !r.way.urlFront() {
		r.front = c
		return nil
	}
	r.url = "http://" + address + "/mcp"
	if r.proxy, err = c.start(ctx); err != nil || !waits {
		return err
	}
	return listening(ctx, address, r.proxy)
}

// environment keeps what a proxy stores below home. Pages open in a browser that logs in
// at once.
func environment(home string) []string {
	return []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_STATE_HOME=" + home,
		"MCP_REMOTE_CONFIG_DIR=" + home, "BROWSER=" + filepath.Join(home, "..", "xdg-open"),
		"PATH=" + filepath.Dir(home) + ":" + os.Getenv("PATH"),
	}
}

// serve starts a server with a URL.
func (r *rig) serve(ctx context.Context, waits bool) (err error) {
	if r.server, err = r.behind.start(ctx); err != nil || !waits {
		return err
	}
	return listening(ctx, r.at, r.server)
}

// host opens a session through the way.
func (r *rig) host(ctx context.Context) (host, error) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	var h host
	if r.url != "" {
		h = newURLHost(r.url)
	} else {
		piped, err := startPipeHost(ctx, r.front)
		if err != nil {
			return nil, err
		}
		h = piped
	}
	if err := open(ctx, h); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// close ends all that is left of the rig.
func (r *rig) close() {
	if r.proxy != nil {
		r.proxy.stop()
	}
	if r.server != nil {
		_ = r.server.cmd.Process.Kill()
		<-r.server.ended
	}
	r.killPrograms()
}
