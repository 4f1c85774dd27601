package main

import (
	"io"
	"runtime"
)

// hostStreams returns the streams to the host, and prepares the process for them.
func (a *app) hostStreams() (in io.ReadCloser, out io.WriteCloser, restore func()) {
	in, out, restore = closer(a.console.In), closingWriter{a.console.Out}, func() {}
	stdin, stdout := a.console.Files()
	if stdin == nil {
		return in, out, restore
	}
	undo := []func(){a.oneProcessor()}
	if own, reset := unblocked(stdin); own != nil {
		in, undo = own, append(undo, reset)
	}
	if own, reset := unblocked(stdout); own != nil {
		out, undo = own, append(undo, reset)
	}
	return in, out, func() {
		for _, f := range undo {
			f()
		}
	}
}

// oneProcessor makes goroutines run one at a time, unless the user has set how many may. To wake
// a thread on a second processor for a message of the host takes longer than the message.
func (a *app) oneProcessor() (restore func()) {
	if _, set := a.console.Env("GOMAXPROCS"); set {
		return func() {}
	}
	before := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(before) }
}

// closer returns r with a Close, which ends reading where r has one.
func closer(r io.Reader) io.ReadCloser {
	if c, ok := r.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(r)
}

// closingWriter leaves stdout open: what is printed after the proxy has ended is on stderr.
type closingWriter struct{ io.Writer }

// Close implements [io.Closer].
func (closingWriter) Close() error { return nil }
