// Command goplain is the record book of a small apiary as an MCP server,
// written with the standard library only.
//
// Without arguments it speaks stdio; with -http 127.0.0.1:PORT it serves
// streamable HTTP at /mcp. DEFECT=name in the environment switches one
// mistake on.
package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

var defectName = os.Getenv("DEFECT")

// defect tells whether the named mistake is switched on.
func defect(name string) bool { return defectName == name }

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address")
	flag.Parse()
	srv := newServer()
	if *addr != "" {
		if err := serveHTTP(srv, *addr); err != nil {
			fmt.Fprintln(os.Stderr, "goplain:", err)
			os.Exit(1)
		}
		return
	}
	serveStdio(srv, os.Stdin, os.Stdout)
}

// stdioConn holds the state of one process: the session (after initialize),
// and the calls under way.
type stdioConn struct {
	srv  *server
	mu   sync.Mutex
	out  io.Writer
	sess *session
	live map[string]context.CancelFunc
	wg   sync.WaitGroup
}

func (s *stdioConn) write(msg any) {
	line := append(encode(msg), '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Write(line)
}

func serveStdio(srv *server, in io.Reader, out io.Writer) {
	s := &stdioConn{srv: srv, out: out, live: map[string]context.CancelFunc{}}
	if defect("long-line-ends-reading") {
		sc := bufio.NewScanner(in)
		for sc.Scan() {
			s.line(sc.Bytes())
		}
		if sc.Err() != nil {
			fmt.Fprintln(os.Stderr, "goplain: reading stopped:", sc.Err())
		}
	} else {
		rd := bufio.NewReader(in)
		for {
			b, err := rd.ReadBytes('\n')
			s.line(b)
			if err != nil {
				break
			}
		}
	}
	// Give short calls a moment to finish, then leave.
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(400 * time.Millisecond):
	}
}

func (s *stdioConn) line(b []byte) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return
	}
	b = append([]byte(nil), b...)
	if b[0] == '[' {
		s.batch(b)
		return
	}
	m, err := parseMessage(b)
	if err != nil {
		s.write(errorReply(m.ID, err, s.version()))
		return
	}
	s.one(m, func(reply any) {
		if reply != nil {
			s.write(reply)
		}
	})
}

func (s *stdioConn) version() string {
	if s.sess == nil {
		return ""
	}
	return s.sess.version
}

// batch serves an array of messages, which only revision 2025-03-26 allows.
func (s *stdioConn) batch(b []byte) {
	if s.version() != v2025a {
		s.write(errorReply(nil, invalidRequest("batches are not supported"), s.version()))
		return
	}
	msgs, err := parseBatch(b)
	if err != nil {
		s.write(errorReply(nil, err, s.version()))
		return
	}
	var mu sync.Mutex
	var replies []any
	var wg sync.WaitGroup
	for _, r := range msgs {
		m, err := parseMessage(r)
		if err != nil {
			mu.Lock()
			replies = append(replies, errorReply(m.ID, err, s.version()))
			mu.Unlock()
			continue
		}
		if m.isRequest() {
			wg.Add(1)
			s.one(m, func(reply any) {
				mu.Lock()
				if reply != nil {
					replies = append(replies, reply)
				}
				mu.Unlock()
				wg.Done()
			})
			continue
		}
		s.one(m, func(any) {})
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		wg.Wait()
		if len(replies) > 0 {
			s.write(replies)
		}
	}()
}

// one serves a single message. The answer, if any, goes to reply; reply gets
// nil in a batch when the request was cancelled.
func (s *stdioConn) one(m *message, reply func(any)) {
	answer := reply
	switch {
	case m.isResponse():
		if s.sess != nil {
			s.sess.deliver(m)
		}
		return
	case !m.isRequest():
		if m.Method == "notifications/cancelled" {
			key := cancelKey(m)
			s.mu.Lock()
			cancel := s.live[key]
			s.mu.Unlock()
			if cancel != nil {
				cancel()
			} else if defect("late-cancel-answered") {
				s.write(errorReply(nil, invalidParams("no such request under way"), s.version()))
			}
		}
		return
	}
	c, rerr := s.srv.open(m, s.sess)
	if rerr != nil {
		answer(errorReply(m.ID, rerr, s.version()))
		return
	}
	c.emit = func(msg any) { s.write(msg) }
	if m.Method == "initialize" && !c.modern {
		if s.sess != nil {
			answer(errorReply(m.ID, invalidRequest("the session is open already"), s.version()))
			return
		}
		sess, res, rerr := s.srv.initialize(m)
		if rerr != nil {
			answer(errorReply(m.ID, rerr, ""))
			return
		}
		sess.unsolicited = s.write
		s.sess = sess
		s.srv.addSession(sess)
		answer(resultReply(m.ID, res))
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.ctx = ctx
	key := idKey(m.ID)
	s.mu.Lock()
	s.live[key] = cancel
	s.mu.Unlock()
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		defer cancel()
		res, rerr, silent := s.srv.guard(c, m)
		s.mu.Lock()
		delete(s.live, key)
		s.mu.Unlock()
		if silent || ctx.Err() != nil {
			answer(nil)
			return
		}
		if rerr != nil {
			answer(errorReply(m.ID, rerr, c.version))
			return
		}
		answer(resultReply(m.ID, res))
	}()
}
