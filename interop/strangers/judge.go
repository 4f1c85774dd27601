package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// runLimit bounds one run of the suite.
const runLimit = 10 * time.Minute

// outcome is what a report says.
type outcome struct {
	Checks   []check
	Findings []struct {
		Title  string
		Checks []string
	}
}

// check is the outcome of one check in one revision.
type check struct {
	ID       string
	Revision string
	Status   string
}

var errNoReport = errors.New("no report")

// readOutcome reads the report of a run.
func readOutcome(text []byte) (*outcome, error) {
	var o outcome
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	if len(o.Checks) == 0 {
		return nil, errNoReport
	}
	return &o, nil
}

// worst orders the outcomes of a check.
var worst = map[string]int{"pass": 0, "skip": 0, "inconclusive": 1, "warn": 2, "error": 3, "fail": 4}

// judgeHealthy judges a server without a defect as often as wanted. Each check of what it returns
// has the worst outcome of all runs: what goes wrong now and then says nothing of a defect.
func (p *place) judgeHealthy(ctx context.Context, d defect) (*outcome, error) {
	var all outcome
	for range p.healthyRuns {
		o, err := p.judge(ctx, d, "")
		if err != nil {
			return nil, err
		}
		all.Checks = append(all.Checks, o.Checks...)
	}
	return &all, nil
}

// worse returns the checks that have a worse outcome after than before. A check may be there more
// than once; its worst outcome counts.
func (o *outcome) worse(after *outcome) []string {
	was := map[string]int{}
	for _, c := range o.Checks {
		key := c.ID + " " + c.Revision
		was[key] = max(was[key], worst[c.Status])
	}
	var ids []string
	for _, c := range after.Checks {
		if worst[c.Status] > was[c.ID+" "+c.Revision] && c.Status != "inconclusive" && !slices.Contains(ids, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// firstNew returns the first finding that was not there before, and its place.
func (o *outcome) firstNew(after *outcome) (title string, at int) {
	worse := o.worse(after)
	for i, f := range after.Findings {
		if slices.ContainsFunc(f.Checks, func(id string) bool { return slices.Contains(worse, id) }) {
			return f.Title, i + 1
		}
	}
	return "", 0
}

// argv returns the program of a server, and its folder.
func (p *place) argv(server string) ([]string, string) {
	dir := filepath.Join(p.set, server)
	if _, err := os.Stat(filepath.Join(dir, "main.go")); err == nil {
		return []string{filepath.Join(p.bin, server)}, dir
	}
	if _, err := os.Stat(filepath.Join(dir, "server.mjs")); err == nil {
		return []string{p.node, filepath.Join(dir, "server.mjs")}, dir
	}
	return []string{p.python, filepath.Join(dir, "server.py")}, dir
}

// judge runs the suite on a server with a defect, or without one if name is empty.
func (p *place) judge(ctx context.Context, d defect, name string) (*outcome, error) {
	if p.official.suite != "" {
		return p.judgeOfficial(ctx, d, name)
	}
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	argv, dir := p.argv(d.server)
	args := []string{"conform", "server", "--side-effects", "all", "--output", "json", "--color", "never", "--no-input"}
	env := append(os.Environ(), "DEFECT="+name)
	if d.transport == "http" {
		url, stop, err := serve(ctx, argv, dir, env)
		if err != nil {
			return nil, err
		}
		defer stop()
		args = append(args, url)
	} else {
		args = append(append(args, "--env", "DEFECT="+name, "--"), argv...)
	}
	cmd := exec.CommandContext(ctx, p.mcpctl, args...)
	cmd.Dir, cmd.Env = dir, env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if p.keep != "" {
		file := fmt.Sprintf("%s-%s-%s-*.json", d.server, d.transport, cmp.Or(name, "healthy"))
		if keepErr := keepReport(p.keep, file, out.Bytes()); keepErr != nil {
			return nil, keepErr
		}
	}
	report, readErr := readOutcome(out.Bytes())
	if readErr != nil {
		return nil, fmt.Errorf("mcpctl: %w: %.300s", errors.Join(err, ctx.Err(), readErr), said.String())
	}
	return report, nil
}

// keepReport writes a report to a new file of a folder.
func keepReport(folder, pattern string, report []byte) error {
	file, err := os.CreateTemp(folder, pattern)
	if err != nil {
		return err
	}
	_, err = file.Write(report)
	return errors.Join(err, file.Close())
}

// serve starts a server over HTTP and waits until it listens.
func serve(ctx context.Context, argv []string, dir string, env []string) (url string, stop func(), err error) {
	port, err := freePort(ctx)
	if err != nil {
		return "", nil, err
	}
	flag, address := "--http", strconv.Itoa(port)
	if len(argv) == 1 {
		flag, address = "-http", "127.0.0.1:"+address
	}
	cmd := exec.CommandContext(ctx, argv[0], append(slices.Clone(argv[1:]), flag, address)...)
	cmd.Dir, cmd.Env = dir, env
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	var dialer net.Dialer
	for began := time.Now(); time.Since(began) < time.Minute && ctx.Err() == nil; {
		conn, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			_ = conn.Close()
			return "http://127.0.0.1:" + strconv.Itoa(port) + "/mcp", stop, nil
		}
		<-time.After(50 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("%s does not listen: %.300s", argv, said.String())
}

func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
