package clientsuite_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// lineWay is stdio.
type lineWay struct {
	c     *toyClient
	child *toyChild
	mu    sync.Mutex
}

func newLines(c *toyClient, child *toyChild) *lineWay {
	w := &lineWay{c: c, child: child}
	if !c.is("blocks-stderr") {
		go func() { _, _ = io.Copy(io.Discard, child.Stderr) }()
	}
	go w.read()
	return w
}

func (w *lineWay) read() {
	lines := bufio.NewReader(w.child.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if w.c.is("small-lines") && len(line) > 64<<10 {
			w.c.fail()
			return
		}
		if w.c.is("wants-lf") && bytes.HasSuffix(line, []byte("\r\n")) {
			line = nil
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			w.c.receive(context.Background(), line) //nolint:forbidigo // of the connection
		}
		if err != nil {
			w.c.fail()
			return
		}
	}
}

// send implements way.
func (w *lineWay) send(_ context.Context, m members) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	raw := []byte(m.raw())
	if w.c.is("pretty-lines") {
		raw, _ = json.MarshalIndent(m, "", " ")
	}
	if _, err := w.child.Stdin.Write(append(raw, '\n')); err != nil {
		return errClosed
	}
	return nil
}

// close implements way: the end of stdin, then TERM, then KILL.
func (w *lineWay) close() {
	if w.c.is("leaves-process") {
		return
	}
	if w.c.is("terminates-first") {
		w.child.Signal("TERM")
		<-time.After(50 * time.Millisecond)
	}
	_ = w.child.Stdin.Close()
	for _, signal := range []string{"TERM", "KILL"} {
		t := time.NewTimer(time.Second)
		select {
		case <-w.child.Done:
			t.Stop()
			return
		case <-t.C:
		}
		if w.c.is("never-kills") {
			return
		}
		if w.c.is("waits-for-exit") {
			<-w.child.Done
		}
		w.child.Signal(signal)
	}
	<-w.child.Done
}
