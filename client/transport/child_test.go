package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport/transporttest"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// programVariable names the program that this binary is when it is started as a child.
const programVariable = "MAINSTAY_TEST_PROGRAM"

// program is the environment that makes this binary a program. Programs with the race detector
// would otherwise sleep for a second before they exit.
func program(name string) []string {
	return []string{programVariable + "=" + name, "GORACE=atexit_sleep_ms=0"}
}

// programs are started by the tests of [transport.Command]. Each has a time limit, so that a
// failed test leaves nothing behind for long.
var programs = map[string]func(){
	"peer": servePeer,
	"exit 3": func() {
		fmt.Fprintln(os.Stderr, "starting\nboom: no configuration file")
		exit(3)
	},
	"exit 0 on request": func() {
		requests(func(jsonrpc.Request) { exit(0) })
	},
	"banner": func() {
		fmt.Println("Server v1.0 is ready\n\n[INFO] listening\n{not json either")
		servePeer()
	},
	"log in JSON": func() {
		fmt.Println(`{"level":30,"msg":"listening"}` + "\n" + `{"level":50,"error":"no database","method":"GET"}`)
		servePeer()
	},
	"flood of stderr": func() {
		line := strings.Repeat("e", 1000)
		for n := range 5000 {
			fmt.Fprintln(os.Stderr, n, line)
		}
		fmt.Fprintln(os.Stderr, "final words: "+strings.Repeat("ü", 400)+"\xff")
		servePeer()
	},
	"deaf":        hold,
	"ignore EOF":  func() { servePeer(); hold() },
	"ignore TERM": ignoreTerm,
	"die at 64":   func() { dieAfter(64) },
	"die at 1":    func() { dieAfter(1) },
	"orphan":      func() { startChild(); requests(func(jsonrpc.Request) { exit(0) }) },
	"parent":      func() { startChild(); servePeer() },
	"hold":        hold,
	"client":      clientProgram,
	"stubborn":    stubborn,
	"obliging":    obliging,
	"environment": tellEnvironment,
	"truncate":    truncate,
	"mute":        func() { requests(func(jsonrpc.Request) { _ = os.Stdout.Close(); hold() }) },
	"mute at the end": func() {
		servePeer()
		_ = os.Stdout.Close()
		<-time.After(2500 * time.Millisecond) // more than the defaults allow for a program
		fmt.Fprintln(os.Stderr, "done")
	},
	"parent of the deaf": func() {
		startChild()
		requests(func(jsonrpc.Request) { fmt.Fprintln(os.Stderr, "read") })
	},
	"noise": func() { requests(func(jsonrpc.Request) { fmt.Print(strings.Repeat("chatter\n", 60)) }) },
	"chatty": func() {
		answerEach(func(answer string) { fmt.Print("INFO asked\n", `{"level":30}`, "\n", answer, "\n") })
	},
	"speaks and crashes": func() {
		fmt.Fprintln(os.Stderr, "Starting default (STDIO) server...")
		requests(func(r jsonrpc.Request) {
			switch r.Method {
			case "say":
				fmt.Fprintln(os.Stderr, "could not say much")
			case "mutter":
				fmt.Fprintln(os.Stderr, "could not say much")
				return
			case "crash":
				exit(1)
			case "crash and mutter":
				fmt.Fprintln(os.Stderr, "could not say much")
				exit(1)
			case "crash and say why":
				fmt.Fprintln(os.Stderr, "fatal: out of luck")
				exit(1)
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", r.ID.AppendJSON(nil))
		})
	},
	"carriage":     func() { answerEach(func(answer string) { fmt.Print("\r\n\r\n" + answer + "\r\n") }) },
	"no last line": func() { answerEach(func(answer string) { fmt.Print(answer); exit(0) }) },
}

func runProgram(name string) {
	run := programs[name]
	if run == nil {
		fmt.Fprintln(os.Stderr, "no such program")
		exit(99)
	}
	run()
}

func servePeer() { (&transporttest.Peer{}).ServeLines(context.Background(), os.Stdin, os.Stdout) } //nolint:forbidigo // a program's main

// hold does nothing for a minute.
func hold() { <-time.After(time.Minute) }

// requests reads requests until stdin ends.
func requests(f func(jsonrpc.Request)) {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(line)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			exit(98)
		}
		if req, ok := m.(jsonrpc.Request); ok {
			f(req)
		}
	}
}

// answerEach answers every request with f.
func answerEach(f func(answer string)) {
	requests(func(req jsonrpc.Request) {
		f(string(jsonrpc.Response{ID: req.ID, Result: []byte(`{}`)}.AppendJSON(nil)))
	})
}

// dieAfter kills itself after reading that many requests, and as few other bytes as possible.
func dieAfter(count int) {
	seen := 0
	one := make([]byte, 1)
	for seen < count {
		if _, err := io.ReadFull(os.Stdin, one); err != nil {
			return
		}
		if one[0] == '\n' {
			seen++
		}
	}
	self, _ := os.FindProcess(os.Getpid())
	_ = self.Kill()
	hold()
}

// startChild starts a child that holds stdout and stderr open, and prints its pid.
func startChild() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = program("hold")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		exit(97)
	}
	fmt.Fprintln(os.Stderr, "child", cmd.Process.Pid)
}

func tellEnvironment() {
	requests(func(req jsonrpc.Request) {
		raw, _ := json.Marshal(map[string]any{"env": os.Environ()}) // strings can always be encoded
		fmt.Println(string(jsonrpc.Response{ID: req.ID, Result: raw}.AppendJSON(nil)))
	})
}

// truncate answers "early" with a line that ends after its id, "late" with one that ends before
// it, and everything else correctly.
func truncate() {
	requests(func(req jsonrpc.Request) {
		id := string(req.ID.AppendJSON(nil))
		switch req.Method {
		case "early":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"text":"this is no`+"\n", id)
		case "late":
			fmt.Println(`{"jsonrpc":"2.0","result":{"text":"this is no`)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
		}
	})
}

// exit exits.
func exit(status int) { os.Exit(status) } //nolint:forbidigo // a program, not a test
