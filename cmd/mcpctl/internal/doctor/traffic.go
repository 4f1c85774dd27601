package doctor

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// answers sees the answers of a server over HTTP.
type answers struct {
	http.RoundTripper
	d *diagnosis
}

// RoundTrip implements [http.RoundTripper].
func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	media := resp.Header.Get("Content-Type")
	seen := fmt.Sprintf("status %d", resp.StatusCode)
	if media != "" {
		seen += ", " + media
	}
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	switch {
	case r.Method == http.MethodGet:
		a.d.get, a.d.streams = seen, resp.StatusCode == http.StatusOK && strings.HasPrefix(media, "text/event-stream")
	case a.d.post == "" && resp.StatusCode == http.StatusOK:
		a.d.post = seen + ", " + resp.Proto
	}
	return resp, nil
}

// watch sees what a program prints, beside what the run sees.
func (d *diagnosis) watch(t transport.Trace) transport.Trace {
	heard := func(where string) {
		if d.first.IsZero() {
			d.first, d.where = time.Now(), where
		}
	}
	received := t.Received
	t.Received = func(frame []byte) {
		d.mu.Lock()
		heard("a message")
		d.mu.Unlock()
		if received != nil {
			received(frame)
		}
	}
	const most = 5
	t.Noise = func(line []byte) {
		d.mu.Lock()
		defer d.mu.Unlock()
		heard("a line on standard output")
		if d.noises++; len(d.noise) < most {
			d.noise = append(d.noise, string(line))
		}
	}
	t.Stderr = func(line string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		heard("a line on standard error")
		d.stderr = append(d.stderr[max(0, len(d.stderr)-100):], line)
	}
	t.Exited = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.exited = time.Now()
		// Children that end at the end of their standard input, too, have a moment for it.
		for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
			if d.left = Left(d.children); len(d.left) == 0 || time.Since(d.exited) > time.Second/2 {
				return
			}
		}
	}
	return t
}
