package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// walkArg makes this program call a tool once, and write to the folder that follows
// which code ran on the way from CallTool to the server.
const walkArg = "walk"

// walked is what one call does. The client calls HeaderFunc as often as headers says for
// a call, and connecting to connect, in the era that needs most.
type walked struct {
	packages         []string // that it enters on its way to the server
	headers, connect int
}

// walkCall builds this program with the coverage counters of the go command, runs it, and
// reads them.
func walkCall(ctx context.Context, dir string) (w walked, err error) {
	temp, err := os.MkdirTemp("", "house")
	if err != nil {
		return w, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what remains is in the system's folder for such files
	program, counters, profile := filepath.Join(temp, "house"), filepath.Join(temp, "counters"), filepath.Join(temp, "profile")
	if err := os.Mkdir(counters, 0o700); err != nil {
		return w, err
	}
	for _, command := range [][]string{
		{"go", "build", "-cover", "-covermode=atomic", "-coverpkg=" + module + "/...", "-o", program, "./internal/house"},
		{program, walkArg, counters},
		{"go", "tool", "covdata", "textfmt", "-i=" + counters, "-o=" + profile},
	} {
		out, err := output(ctx, dir, command[0], command[1:]...)
		if err != nil {
			return w, err
		}
		if command[0] != program {
			continue
		}
		for line := range bytes.Lines(out) {
			var call, connect int
			if _, err := fmt.Sscan(string(line), &call, &connect); err != nil {
				return w, err
			}
			w.headers, w.connect = max(w.headers, call), max(w.connect, connect)
		}
	}
	text, err := os.ReadFile(profile)
	w.packages = entered(string(text))
	return w, err
}

// entered lists the packages of a coverage profile of which code ran. A line of one is
// FILE:FROM,TO STATEMENTS COUNT.
func entered(profile string) []string {
	var packages []string
	for line := range strings.Lines(profile) {
		file, _, ok := strings.Cut(line, ":")
		dir := short(filepath.ToSlash(filepath.Dir(file)))
		if ok && !strings.HasSuffix(line, " 0\n") && strings.HasPrefix(file, module) && dir != "internal/house" && !slices.Contains(packages, dir) {
			packages = append(packages, dir)
		}
	}
	slices.Sort(packages)
	return packages
}

// walk calls a tool until nothing is left that only the first calls do, then once more
// with counters of its own.
func walk(ctx context.Context, out io.Writer, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stream, server := transport.InMemory()
	arrived := func(string) error { return nil }
	go serve(server, func(method string) error { return arrived(method) })
	c, err := client.Connect(ctx, stream, client.WithProtocolVersion(string(mcp.LatestSession)))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // only the call matters
	call := func() error {
		_, err := c.CallTool(ctx, "echo", map[string]any{"text": "hi"})
		return err
	}
	for range 3 {
		if err := call(); err != nil {
			return err
		}
	}
	written := make(chan error, 1)
	arrived = func(method string) error {
		if method != string(mcp.MethodToolsCall) {
			return nil
		}
		err := coverage.WriteCountersDir(dir)
		written <- err
		return err
	}
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if err := call(); err != nil {
		return err
	}
	if err := <-written; err != nil {
		return err
	}
	for _, version := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		call, connect, err := countHeaders(ctx, version)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, call, connect); err != nil {
			return err
		}
	}
	return coverage.WriteMetaDir(dir)
}

// answerTo returns the answer of a server with one tool to a message, nil if it needs none.
func answerTo(message []byte, arrived func(method string) error) []byte {
	answers := map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["` + string(mcp.Latest) + `"],"capabilities":{"tools":{}},"serverInfo":{"name":"walk","version":"1"}}`,
		"initialize":      `{"protocolVersion":"` + string(mcp.LatestSession) + `","capabilities":{"tools":{}},"serverInfo":{"name":"walk","version":"1"}}`,
		"tools/list":      `{"resultType":"complete","ttlMs":600000,"cacheScope":"private","tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`,
		"tools/call":      `{"resultType":"complete","content":[{"type":"text","text":"hi"}]}`,
		"ping":            `{}`,
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(message, &m) != nil || m.ID == nil || arrived(m.Method) != nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, answers[m.Method])
}

// serve answers over a stream.
func serve(conn net.Conn, arrived func(method string) error) {
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		_, _ = conn.Write(answerTo(lines.Bytes(), arrived)) // the client reports a closed stream
	}
}

// overHTTP answers HTTP requests without a network.
type overHTTP struct{}

// RoundTrip implements [http.RoundTripper].
func (overHTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{}, Body: http.NoBody, Request: r, ProtoMajor: 1, ProtoMinor: 1}
	if r.Method != http.MethodPost {
		return resp, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	resp.StatusCode = http.StatusAccepted
	if answer := answerTo(body, func(string) error { return nil }); answer != nil {
		resp.StatusCode, resp.ContentLength = http.StatusOK, int64(len(answer))
		resp.Header.Set("Content-Type", "application/json")
		resp.Body = io.NopCloser(bytes.NewReader(answer))
	}
	return resp, nil
}

// countHeaders reports how often the client calls HeaderFunc at most for one call of a
// tool, and to connect.
func countHeaders(ctx context.Context, version mcp.Version) (call, connect int64, err error) {
	var n atomic.Int64
	t := &transport.HTTP{URL: "http://walk.invalid/mcp", RoundTripper: overHTTP{}, HeaderFunc: func(context.Context) (http.Header, error) {
		n.Add(1)
		return http.Header{"Authorization": {"Bearer token"}}, nil
	}}
	c, err := client.Connect(ctx, t, client.WithProtocolVersion(string(version)))
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = c.Close() }() // only the calls matter
	connect = n.Load()
	for range 3 {
		n.Store(0)
		if _, err := c.CallTool(ctx, "echo", map[string]any{"text": "hi"}); err != nil {
			return 0, 0, err
		}
		call = max(call, n.Load())
	}
	return call, connect, nil
}
