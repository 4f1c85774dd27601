package faults

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// madeByHTTP are the faults of the carrier HTTP that write to the connection directly:
// neither scripts nor statuses.
func madeByHTTP() map[string]func(*visit) {
	return map[string]func(*visit){
		"B1": func(v *visit) {
			got := v.fetched()
			if v.held() {
				v.unfetched(&got)
				got.relay(v, nil)
			}
		},
		"B2": func(v *visit) {
			got := v.fetched()
			v.drip(head(got.status, got.header, len(v.bodyOf(got))), v.bodyOf(got))
		},
		"B3": func(v *visit) {
			got := v.fetched()
			body := v.bodyOf(got)
			v.onWire(func(c *wire) {
				v.deliver(func() bool { return c.send(head(got.status, got.header, len(body))) && c.slowly(v, body) })
			})
		},
		"B4":  func(v *visit) { v.fetched(); v.onWire(func(c *wire) { c.reset() }) },
		"B5":  usedAgain,
		"B6":  breaksOff,
		"B7":  tooMuch,
		"B8":  tooLarge,
		"B28": manyHeaders,
		"B30": halfClosed,
		"C1":  func(v *visit) { v.fetched(); s := &sink{v: v}; s.open(); v.abort() },
		"C2":  func(v *visit) { resumable(v, "") },
		"C3": func(v *visit) {
			v.fetched()
			s := &sink{v: v}
			s.event(progress(v.req.token, "1"))
			v.abort()
		},
		"C4":  func(v *visit) { v.fetched(); s := &sink{v: v}; s.event(progress(v.req.token, "1")) },
		"C5":  comments,
		"C6":  func(v *visit) { silence(v) },
		"C7":  longLine,
		"C8":  lineEnds,
		"C9":  func(v *visit) { resumable(v, map[string]string{"zero": "0", "huge": "1000000000000"}[v.form]) },
		"C10": moreAnswers,
		"C11": listeningEnds,
	}
}

// fetched returns the server's answer, or an empty result if the request is not forwarded.
func (v *visit) fetched() reply {
	if v.Unsent {
		return reply{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, answer: nothing(v.req)}
	}
	return v.ask(v.body, nil)
}

// unfetched forwards the request when the fault is over.
func (v *visit) unfetched(got *reply) {
	if v.Unsent {
		*got = v.ask(v.body, nil)
	}
}

// bodyOf returns the answer as one body.
func (v *visit) bodyOf(got reply) []byte {
	if got.answer != nil {
		return got.answer
	}
	return got.body
}

// wire is a connection taken from the HTTP server.
type wire struct {
	net.Conn
	in   *bufio.Reader
	ctx  context.Context // ends when the client closes, while onWire runs with watch
	stop func()
}

// onWire hijacks the connection and closes it at the end. HTTP/2 does not allow that: its
// stream is reset.
func (v *visit) onWire(use func(c *wire)) {
	conn, buffered, err := http.NewResponseController(v.w).Hijack()
	if err != nil {
		v.abort()
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(v.r.Context()))
	c := &wire{Conn: conn, in: buffered.Reader, ctx: ctx, stop: cancel}
	defer cancel()
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Time{}) // hijacked connections have none of the server's
	use(c)
}

// watch ends the context of the wire when the client closes. It drops the client's data.
func (c *wire) watch() {
	go func() {
		defer c.stop()
		_, _ = io.Copy(io.Discard, c.in)
	}()
}

func (c *wire) send(data []byte) bool {
	_, err := c.Write(data)
	return err == nil
}

// slowly sends one byte at a time.
func (c *wire) slowly(v *visit, data []byte) bool {
	c.watch()
	for i := range data {
		select {
		case <-v.period.over: // healed: the rest at once
			return c.send(data[i:])
		default:
		}
		if i > 0 && !pause(c.ctx, v.Every.or(time.Second)) || !c.send(data[i:i+1]) {
			return false
		}
	}
	return true
}

// reset closes with a TCP reset if the connection is TCP.
func (c *wire) reset() {
	conn := c.Conn
	for {
		inner, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = inner.NetConn()
	}
	if tcp, ok := conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0)
		_ = conn.Close()
	}
}

// head returns the start of an answer; a negative length means chunked.
func head(status int, header http.Header, length int) []byte {
	out := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	kind := header.Get("Content-Type")
	if kind == "" || strings.HasPrefix(kind, "text/event-stream") {
		kind = "application/json"
	}
	out = fmt.Appendf(out, "Content-Type: %s\r\n", kind)
	if id := header.Get(sessionHeader); id != "" {
		out = fmt.Appendf(out, "%s: %s\r\n", sessionHeader, id)
	}
	if length < 0 {
		return append(out, "Transfer-Encoding: chunked\r\n\r\n"...)
	}
	return fmt.Appendf(out, "Content-Length: %d\r\n\r\n", length)
}

func (v *visit) drip(head, body []byte) {
	v.onWire(func(c *wire) { v.deliver(func() bool { return c.slowly(v, slices.Concat(head, body)) }) })
}

// usedAgain answers and closes the connection when the client uses it again. It does not
// read the next request, so the server does not get it.
func usedAgain(v *visit) {
	got := v.fetched()
	body := v.bodyOf(got)
	v.onWire(func(c *wire) {
		if v.deliver(func() bool { return c.send(slices.Concat(head(got.status, got.header, len(body)), body)) }) {
			_, _ = c.in.Peek(1) // the next request, or the client's close
		}
	})
}

func breaksOff(v *visit) {
	got := v.fetched()
	body := v.bodyOf(got)
	half := body[:len(body)/2]
	v.onWire(func(c *wire) {
		switch v.form {
		case "chunk":
			c.send(fmt.Appendf(head(got.status, got.header, -1), "%x\r\n%s", len(body), half))
		case "short":
			c.send(append(head(got.status, got.header, len(body)), half...))
		default:
			c.send(append(head(got.status, got.header, len(body)), half...))
			c.reset()
		}
	})
}

func tooMuch(v *visit) {
	got := v.fetched()
	body := v.bodyOf(got)
	const more = "this text belongs to nobody\n"
	v.onWire(func(c *wire) {
		length := len(body)
		if v.form == "garbage" {
			length += len(more)
		}
		v.deliver(func() bool { return c.send(slices.Concat(head(got.status, got.header, length), body, []byte(more))) })
	})
}

// tooLarge sends white space before the answer, whose JSON stays valid.
func tooLarge(v *visit) {
	got := v.fetched()
	h := v.w.Header()
	h.Set("Content-Type", "application/json")
	var out io.Writer = v.w
	if v.form == "gzip" {
		h.Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(v.w)
		defer func() { _ = packed.Close() }()
		out = packed
	}
	v.w.WriteHeader(http.StatusOK)
	blank := bytes.Repeat([]byte(" "), 64<<10)
	for left := orInt(v.Size, overLimit); left > 0 || v.form == "endless"; left -= len(blank) {
		if v.form != "endless" {
			blank = blank[:min(left, len(blank))]
		}
		if _, err := out.Write(blank); err != nil {
			return
		}
	}
	v.deliver(func() bool {
		_, err := out.Write(v.bodyOf(got))
		return err == nil
	})
}

func manyHeaders(v *visit) {
	got := v.fetched()
	h := v.w.Header()
	if v.form == "many" {
		for i := range orInt(v.Repeat, 10_000) {
			h.Set(fmt.Sprintf("X-Faults-%d", i), "1")
		}
	} else {
		h.Set("X-Faults", strings.Repeat("x", orInt(v.Size, 1<<20)))
	}
	got.relay(v, nil)
}

// halfClosed closes the sending side of the connection and keeps the socket.
func halfClosed(v *visit) {
	v.fetched()
	v.onWire(func(c *wire) {
		conn, ok := c.Conn.(interface{ CloseWrite() error })
		if !ok || conn.CloseWrite() != nil {
			return
		}
		c.watch()
		v.hold(c.ctx, time.Duration(v.For))
	})
}

// answeredEarly makes B29, the only fault before the request is read.
func (v *visit) answeredEarly() bool {
	if v.r.Method != http.MethodPost || v.proxy.active("B29") == nil {
		return false
	}
	begin := make([]byte, peekLimit)
	n, _ := io.ReadFull(v.r.Body, begin) // shorter is the whole
	v.body = begin[:n]
	m := preview(v.body)
	h := v.proxy.match(event{carrier: HTTP, point: atMessage, method: m.Method, tool: m.tool, request: m.request(), early: true})
	if h == nil {
		return false
	}
	v.hit, v.req = h, m
	v.entered(v.r.Header.Get(sessionHeader))
	v.onWire(func(c *wire) {
		body := nothing(m)
		v.deliver(func() bool { return c.send(slices.Concat(head(http.StatusOK, nil, len(body)), body)) })
	})
	return true
}
