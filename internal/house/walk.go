package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// walkArg makes this program call a tool once, and write to the folder that follows
// which code ran on the way from CallTool to the server.
const walkArg = "walk"

// packagesOfCall returns the packages of this project that one call of a tool enters
// on its way to the server. It builds this program with the coverage counters of the go
// command, and reads them.
func packagesOfCall(ctx context.Context, dir string) ([]string, error) {
	temp, err := os.MkdirTemp("", "house")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what remains is in the system's folder for such files
	program, counters, profile := filepath.Join(temp, "house"), filepath.Join(temp, "counters"), filepath.Join(temp, "profile")
	if err := os.Mkdir(counters, 0o700); err != nil {
		return nil, err
	}
	for _, command := range [][]string{
		{"go", "build", "-cover", "-covermode=atomic", "-coverpkg=" + module + "/...", "-o", program, "./internal/house"},
		{program, walkArg, counters},
		{"go", "tool", "covdata", "textfmt", "-i=" + counters, "-o=" + profile},
	} {
		if _, err := output(ctx, dir, command[0], command[1:]...); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	return entered(string(text)), nil
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
func walk(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stream, server := transport.InMemory()
	arrived := func() {}
	go serve(server, func() { arrived() })
	c, err := client.Connect(ctx, stream, client.WithProtocolVersion(string(mcp.Version2025_11_25)))
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
	var written error
	arrived = func() { written = coverage.WriteCountersDir(dir) }
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if err := call(); err != nil {
		return err
	}
	return errors.Join(written, coverage.WriteMetaDir(dir))
}

// serve is a server with one tool. It reports each call before it answers.
func serve(conn net.Conn, arrived func()) {
	answers := map[string]string{
		"initialize": `{"protocolVersion":"` + string(mcp.Version2025_11_25) + `","capabilities":{"tools":{}},"serverInfo":{"name":"walk","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"hi"}]}`,
		"ping":       `{}`,
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if m.Method == "tools/call" {
			arrived()
		}
		_, _ = fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, answers[m.Method]) // the client reports a closed stream
	}
}
