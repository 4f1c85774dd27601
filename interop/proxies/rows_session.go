package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const restartTimes = 5

func restart(ctx context.Context, s *stage, w *way, set func(values ...string)) error {
	good, later := 0, 0
	var times []time.Duration
	why := ""
	for range restartTimes {
		took, first, second, err := restartOnce(ctx, s, w)
		switch {
		case err != nil:
			return err
		case first == nil:
			good++
			times = append(times, took)
		default:
			why = " (" + brief(first) + ")"
		}
		if second == nil {
			later++
		}
	}
	after := "–"
	if len(times) > 0 {
		after = millis(median(times))
	}
	set(fmt.Sprintf("%d of %d%s", good, restartTimes, why), after, fmt.Sprintf("%d of %d", later, restartTimes))
	return nil
}

func restartOnce(ctx context.Context, s *stage, w *way) (took time.Duration, first, second, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := s.setUp(ctx, w)
	defer r.close()
	if err != nil {
		return 0, nil, nil, err
	}
	h, err := r.host(ctx)
	if err != nil {
		return 0, nil, nil, err
	}
	defer h.close()
	if err := echo(ctx, h); err != nil {
		return 0, nil, nil, err
	}
	with := syscall.SIGTERM
	if r.server == nil {
		with = syscall.SIGKILL
	}
	if err := r.killServer(ctx, with, 0); err != nil {
		return 0, nil, nil, err
	}
	wait(ctx, 100*time.Millisecond)
	call := func() error {
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return echo(within, h)
	}
	began := time.Now()
	first = call()
	took = time.Since(began)
	return took, first, call(), nil
}

func frozen(ctx context.Context, s *stage, w *way, set func(values ...string)) error {
	arguments := []string{"-session-idle", "20s"}
	if w.peer != supergateway {
		arguments = append(arguments, "-token-life", "30s")
	}
	r, err := s.setUp(ctx, w, arguments...)
	defer r.close()
	if err != nil {
		return err
	}
	if w.peer == mcpctl { // the others open the page when they start
		if err := r.logIn(ctx); err != nil {
			return err
		}
	}
	h, err := r.host(ctx)
	if err != nil {
		return err
	}
	defer h.close()
	if err := echo(ctx, h); err != nil {
		return err
	}
	before := r.record()
	r.server.signal(syscall.SIGSTOP)
	during := make(chan string, 1)
	stopped := time.Now()
	wait(ctx, time.Second)
	go func() {
		call, cancel := context.WithTimeout(ctx, 100*time.Second)
		defer cancel()
		err := pay(call, h, "1")
		during <- fmt.Sprintf("%s after %s", outcome(err), millis(time.Since(stopped)-time.Second))
	}()
	wait(ctx, 59*time.Second)
	r.server.signal(syscall.SIGCONT)
	call, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	began := time.Now()
	err = echo(call, h)
	took := time.Since(began)
	first := <-during
	after := r.record()
	set(first, count(len(after["pay"])), outcome(err), millis(took), count(len(after["page"])-len(before["page"])), count(len(after["refresh"])-len(before["refresh"])))
	return nil
}

// logIn logs mcpctl in as a person does who opens the page elsewhere.
func (r *rig) logIn(ctx context.Context) error {
	mcpctl := func(stdin string, arguments ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, r.stage.mcpctl, append(arguments, "http://"+r.at+"/mcp")...) //nolint:gosec // the driver chooses it
		cmd.Env = append(os.Environ(), r.front.env...)
		cmd.Stdin = strings.NewReader(stdin)
		return cmd.Output()
	}
	text, _ := mcpctl("", "auth", "login", "-o", "json") // exit 4: a person must log in
	var login struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(text, &login); err != nil {
		return fmt.Errorf("mcpctl auth login: %w", err)
	}
	at, err := loginEnd(ctx, login.URL)
	if err != nil {
		return err
	}
	_, err = mcpctl(at, "auth", "login", "--finish", "@-")
	return err
}

func outcome(err error) string {
	if err == nil {
		return "good"
	}
	return brief(err)
}

func slowStart(ctx context.Context, s *stage, w *way, set func(values ...string)) error {
	home, err := s.folder()
	if err != nil {
		return err
	}
	var values []string
	for range 2 {
		values = append(values, slowStartOnce(ctx, s, w, home))
	}
	set(values...)
	return nil
}

func slowStartOnce(ctx context.Context, s *stage, w *way, home string) string {
	r := &rig{stage: s, way: w, home: home}
	defer r.close()
	argv := []string{s.self, "server", "-record", r.recordFile(), "-start", "20s"}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	err := r.prepare(ctx, argv, func(address string) []string { return append(argv, "-http", address) }, false)
	if err == nil && r.proxy != nil {
		err = listening(ctx, r.url[len("http://"):len(r.url)-len("/mcp")], r.proxy)
	}
	if err != nil {
		return outcome(err)
	}
	h, err := r.host(ctx)
	if err == nil {
		defer h.close()
		_, err = h.call(ctx, "tools/list", map[string]any{})
	}
	if err != nil {
		return fmt.Sprintf("%s after %s", outcome(err), millis(time.Since(began)))
	}
	return millis(time.Since(began))
}

// browser writes the program that opens pages for the proxies.
func (s *stage) browser() error {
	text := fmt.Sprintf("#!/bin/sh\nexec '%s' browser \"$1\"\n", s.self)
	return os.WriteFile(filepath.Join(s.work, "xdg-open"), []byte(text), 0o700) //nolint:gosec // a program
}
