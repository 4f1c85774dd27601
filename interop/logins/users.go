package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// patience bounds one command or call, with the login in it.
const patience = 30 * time.Second

// column is a client that is tried.
type column struct {
	name string
	ours bool
	// cannot has the steps that no server can show with it, with the reason.
	cannot map[string]string
	open   func(ctx context.Context, p *place) (user, error)
}

func columns() []column {
	return []column{
		{name: "mcpctl", ours: true, open: openMcpctl},
		{name: "program", ours: true, open: opener("program")},
		{name: "go-sdk", open: opener("gosdk"), cannot: map[string]string{logout: "go-sdk has no logout"}},
	}
}

// user is a client in the hands of the person, who opens the pages that it shows.
type user interface {
	// call calls a tool. If the client demands a login, the person logs in.
	call(ctx context.Context, tool string) error
	// logout ends the login.
	logout(ctx context.Context) error
	// pages is how many pages the person has opened.
	pages() int
	close()
}

// lines is a program that reads the names of tools and answers each with a line: the
// error, quoted, or "<nil>". It prints the pages to stderr.
type lines struct {
	program *exec.Cmd
	stdin   io.WriteCloser
	answers chan string
	walked  atomic.Int64
	lost    atomic.Pointer[error] // a page that led nowhere
}

func opener(name string) func(ctx context.Context, p *place) (user, error) {
	return func(ctx context.Context, p *place) (user, error) {
		l := &lines{answers: make(chan string)}
		l.program = exec.CommandContext(ctx, filepath.Join(p.stage.bin, name), p.url)
		l.program.Env = append(os.Environ(), "CLIENT_ID="+p.client.id, "CLIENT_SECRET="+p.client.secret, "CLIENT_METADATA="+p.client.document, "ISSUER="+p.issuer)
		stdin, err := l.program.StdinPipe()
		if err != nil {
			return nil, err
		}
		l.stdin = stdin
		stdout, err := l.program.StdoutPipe()
		if err != nil {
			return nil, err
		}
		stderr, err := l.program.StderrPipe()
		if err != nil {
			return nil, err
		}
		if err := l.program.Start(); err != nil {
			return nil, err
		}
		go func() {
			defer close(l.answers)
			for in := bufio.NewScanner(stdout); in.Scan(); {
				l.answers <- in.Text()
			}
		}()
		go l.watch(ctx, stderr)
		return l, l.answer(ctx) // it connects first
	}
}

// watch logs in at each page that the program prints.
func (l *lines) watch(ctx context.Context, stderr io.Reader) {
	for in := bufio.NewScanner(stderr); in.Scan(); {
		page := pageAt.FindString(in.Text())
		if page == "" {
			continue
		}
		l.walked.Add(1)
		if err := l.logIn(ctx, page); err != nil {
			err = fmt.Errorf("log in: %w", err)
			l.lost.Store(&err)
			_ = l.program.Process.Kill()
		}
	}
}

// logIn goes through the page, and on to where it leads: the program listens there.
func (l *lines) logIn(ctx context.Context, page string) error {
	address, err := walk(ctx, page)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// answer waits for the next line.
func (l *lines) answer(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	select {
	case line, ok := <-l.answers:
		if err := l.lost.Load(); err != nil {
			return *err
		}
		if !ok {
			return errors.New("the program ended")
		}
		text, err := strconv.Unquote(line)
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		if text == "<nil>" {
			return nil
		}
		return errors.New(text)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lines) call(ctx context.Context, tool string) error {
	if _, err := fmt.Fprintln(l.stdin, tool); err != nil {
		return err
	}
	return l.answer(ctx)
}

func (l *lines) logout(ctx context.Context) error { return l.call(ctx, "logout") }

func (l *lines) pages() int { return int(l.walked.Load()) }

func (l *lines) close() {
	_ = l.stdin.Close()
	_ = l.program.Process.Kill()
	for range l.answers { // until its stdout ends
	}
	_ = l.program.Wait()
}
