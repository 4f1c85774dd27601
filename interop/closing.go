package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// closing ends the connection: in good time, without an error, and nothing of it
// lives on.
func closing(ctx context.Context, t *table) error {
	began := time.Now()
	if err := t.c.Close(); err != nil {
		return err
	}
	if took := time.Since(began); took > closeTime {
		return unexpected("Close took", took, closeTime)
	}
	if err := eventually(ctx, func() (bool, error) { return leftRunning() == "", nil }); err != nil {
		return fmt.Errorf("a goroutine lives on: %s", leftRunning())
	}
	if t.column.way == stdio {
		return childless(t.mark)
	}
	return nil
}

// closeTime is long for a server that has to be killed, which none here has.
const closeTime = 3 * time.Second

// leftRunning returns the stack of a goroutine of a client or of its HTTP
// connections, "" when there is none. One connection is open at a time.
func leftRunning() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range bytes.Split(stacks, []byte("\n\n")) {
		if bytes.Contains(stack, []byte("leftRunning")) { // this one
			continue
		}
		for _, of := range []string{"mainstay/client", "mainstay/jsonrpc", "net/http.(*persistConn)"} {
			if bytes.Contains(stack, []byte(of)) {
				return string(stack)
			}
		}
	}
	return ""
}

// markName is the variable that marks a child process and all it starts.
const markName = "MAINSTAY_INTEROP_MARK"

func newMark() string { return rand.Text() }

// childless looks for processes with the mark. Where there is no /proc it cannot
// look; the tests of the transport look elsewhere too.
func childless(mark string) error {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(env, []byte(mark)) {
			return fmt.Errorf("process %s lives on", strings.Split(file, "/")[2])
		}
	}
	return nil
}
