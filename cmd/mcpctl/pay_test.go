//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// payServer is a program with a tool "pay", which appends the id of each call that it executes to
// the file PAID. Its process id goes there first. The program has the fifo ALIVE open until it
// ends. PLANT is what it does wrong with the calls whose ids end with 0:
//
//   - repeat: it executes them again
//   - deny: it executes them, and the result says that they were not sent
//   - claim: it does not execute them, and the result says that it did
//
// or "orphan": it starts a program that ends neither with it nor with the proxy.
type payServer struct {
	paid      *os.File
	plant     string
	stateless bool
	mu        sync.Mutex
	sessions  map[string]bool
}

var pay = payMain

// payMain is the program: over stdin and stdout, without sessions if its argument is "stateless",
// or over HTTP if that is "http".
func payMain() {
	paid, err := os.OpenFile(os.Getenv("PAID"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(9) //nolint:forbidigo // a program of its own
	}
	alive, err := os.OpenFile(os.Getenv("ALIVE"), os.O_WRONLY, 0)
	if err != nil {
		os.Exit(9) //nolint:forbidigo // a program of its own
	}
	defer func() { _ = alive.Close() }()
	kind := append(os.Args, "")[1]
	s := &payServer{paid: paid, plant: os.Getenv("PLANT"), stateless: kind == "stateless", sessions: map[string]bool{}}
	s.write(fmt.Sprint("start ", os.Getpid()))
	switch {
	case kind == "http":
		s.serveHTTP()
		return
	case kind == "orphan":
		_, _ = fmt.Fprintln(os.Stdout, "here")
		<-time.After(time.Hour) // the test kills it
		return
	case s.plant == "orphan":
		orphan := exec.Command(os.Args[0], "orphan")
		orphan.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		here, err := orphan.StdoutPipe()
		if errors.Join(err, orphan.Start()) != nil {
			os.Exit(9) //nolint:forbidigo // a program of its own
		}
		_, _ = here.Read(make([]byte, 1)) // it has ALIVE open
	}
	lines := bufio.NewReader(os.Stdin)
	var out sync.Mutex
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		go func() {
			if answer := s.answer(line); answer != "" {
				out.Lock()
				defer out.Unlock()
				_, _ = io.WriteString(os.Stdout, answer+"\n")
			}
		}()
	}
}

// write appends a line at once, so that it is whole even if the process is killed.
func (s *payServer) write(line string) {
	if _, err := s.paid.WriteString(line + "\n"); err != nil {
		os.Exit(9) //nolint:forbidigo // a program of its own
	}
}

// answer returns the response to a message, empty for a notification.
func (s *payServer) answer(line []byte) string {
	var r struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ProtocolVersion string
			Arguments       struct{ ID string }
		}
	}
	const complete = `"resultType":"complete",` // a member that hosts with sessions ignore
	if err := json.Unmarshal(line, &r); err != nil || r.ID == nil {
		return ""
	}
	var result string
	id := r.Params.Arguments.ID
	plant := s.plant
	if !strings.HasSuffix(id, "0") {
		plant = ""
	}
	switch method := r.Method; {
	case method == "server/discover" && s.stateless:
		result = `{` + complete + `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"pay","version":"1"},"ttlMs":0,"cacheScope":"private"}`
	case method == "initialize" && !s.stateless:
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"pay","version":"1"}}`, r.Params.ProtocolVersion)
	case method == "ping":
		result = `{}`
	case method == "tools/list":
		result = `{` + complete + `"ttlMs":0,"cacheScope":"private","tools":[{"name":"pay","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}]}`
	case method == "tools/call":
		<-time.After(rand.N(2 * time.Millisecond)) // a moment in which it can be killed
		if plant != "claim" {
			s.write(id)
		}
		<-time.After(rand.N(2 * time.Millisecond))
		result = fmt.Sprintf(`{%s"content":[{"type":"text","text":%q}]}`, complete, id)
		switch plant {
		case "repeat":
			s.write(id)
		case "deny":
			result = fmt.Sprintf(`{%s"isError":true,"content":[],"_meta":{"io.github.mainstay-mcp/failure":{"delivery":"not-sent"}}}`, complete)
		}
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, r.ID)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

// serveHTTP serves sessions at a port that it prints, until stdin ends.
func (s *payServer) serveHTTP() {
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(9) //nolint:forbidigo // a program of its own
	}
	_, _ = fmt.Fprintln(os.Stdout, on.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = on.Close()
	}()
	_ = http.Serve(on, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // a test's own clients need no time limits
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		session := r.Header.Get("Mcp-Session-Id")
		switch opens := strings.Contains(string(body), `"method":"initialize"`); {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case opens:
			session = fmt.Sprint(os.Getpid(), "-", rand.Uint64())
			w.Header().Set("Mcp-Session-Id", session)
		case strings.Contains(string(body), `"server/discover"`): // of the other era
			w.WriteHeader(http.StatusBadRequest)
			return
		case !s.known(session, false):
			w.WriteHeader(http.StatusNotFound)
			return
		}
		s.known(session, true)
		answer := s.answer(body)
		if answer == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
}

// known reports whether there is such a session, or adds it.
func (s *payServer) known(session string, add bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if add {
		s.sessions[session] = true
	}
	return s.sessions[session]
}
