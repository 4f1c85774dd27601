package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// Stalled is what the name of the file says, beside Options.Pid, that appears
// when the server has stopped reading.
const Stalled = ".stalled"

// maxGather is how many bytes of answers wait for one write.
const maxGather = 256 << 10

// stdio answers on one goroutine: what has come in one read is answered with
// one write, so the server is never what a client waits for.
type stdio struct {
	answers *answers
	out     io.Writer
	gather  []byte
	held    [][]byte // ids of hold
	silent  int
	pid     string
}

// Stdio serves until in ends.
func Stdio(o Options, in io.Reader, out io.Writer) error {
	s := &stdio{answers: newAnswers(o.Modern, o.Tools, o.Label), out: out, pid: o.Pid}
	if o.Prepare > 0 {
		s.answers.ofSize(o.Prepare)
	}
	lines := &lineReader{r: in, buf: make([]byte, 64<<10)}
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.answer(line); err != nil {
			return err
		}
		if !lines.more() || len(s.gather) > maxGather {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
}

func (s *stdio) flush() error {
	if len(s.gather) == 0 {
		return nil
	}
	_, err := s.out.Write(s.gather)
	s.gather = s.gather[:0]
	return err
}

func (s *stdio) answer(line []byte) error {
	r, err := parse(line)
	if err != nil {
		return fmt.Errorf("%w: %.100q", err, line)
	}
	if r.id == nil {
		return nil
	}
	if string(r.method) != "tools/call" {
		s.gather = append(envelope(s.gather, r.id, s.answers.plain(r)), '\n')
		return nil
	}
	switch string(r.tool) {
	case "silent":
		s.silent++
	case "count":
		s.result(r.id, s.answers.count(s.silent))
	case "large":
		return s.large(r.id, s.answers.ofSize(r.number("size")))
	case "hold":
		s.held = append(s.held, bytes.Clone(r.id))
		if len(s.held) < r.number("n") {
			return nil
		}
		for _, id := range s.held {
			s.result(id, s.answers.small)
		}
		s.held = s.held[:0]
	case "stall":
		if s.pid != "" {
			if err := os.WriteFile(s.pid+Stalled, nil, 0o600); err != nil {
				return err
			}
		}
		// Long enough for any client to have given up.
		<-time.After(10 * time.Minute)
	default:
		s.result(r.id, s.answers.small)
	}
	return nil
}

func (s *stdio) result(id, result []byte) {
	s.gather = append(envelope(s.gather, id, member("result", result)), '\n')
}

// large goes out without being copied.
func (s *stdio) large(id, result []byte) error {
	s.gather = append(append(s.gather, `{"jsonrpc":"2.0","id":`...), id...)
	s.gather = append(s.gather, `,"result":`...)
	if err := s.flush(); err != nil {
		return err
	}
	if _, err := s.out.Write(result); err != nil {
		return err
	}
	s.gather = append(s.gather, "}\n"...)
	return nil
}

// body is "result" or "error" and its value.
type body struct {
	name  string
	value []byte
}

func member(name string, value []byte) body { return body{name, value} }

func envelope(b, id []byte, what body) []byte {
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	b = append(append(append(b, `,"`...), what.name...), `":`...)
	return append(append(b, what.value...), '}')
}

// plain answers everything but tools/call. The server is of one era, so that a
// client that falls back is seen and never measured in the wrong one.
func (a *answers) plain(r request) body {
	switch {
	case string(r.method) == "initialize" && !a.modern:
		return member("result", a.initialize)
	case string(r.method) == "initialize":
		return member("error", []byte(`{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}`))
	case string(r.method) == "server/discover" && a.modern:
		return member("result", a.discover)
	case string(r.method) == "tools/list":
		return member("result", a.tools)
	case string(r.method) == "ping":
		return member("result", []byte(`{}`))
	}
	return member("error", []byte(`{"code":-32601,"message":`+strconv.Quote("no such method: "+string(r.method))+`}`))
}

// lineReader reads lines of any length into memory it uses again.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int
}

func (l *lineReader) next() ([]byte, error) {
	seen := l.start
	for {
		if i := bytes.IndexByte(l.buf[seen:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : seen+i]
			l.start = seen + i + 1
			return line, nil
		}
		seen = l.end
		if l.start > 0 {
			copy(l.buf, l.buf[l.start:l.end])
			l.end -= l.start
			seen -= l.start
			l.start = 0
		}
		if l.end == len(l.buf) {
			l.buf = append(l.buf, make([]byte, len(l.buf))...)
		}
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil && n == 0 {
			return nil, err
		}
	}
}

// more says whether another whole line has been read already.
func (l *lineReader) more() bool { return bytes.IndexByte(l.buf[l.start:l.end], '\n') >= 0 }
