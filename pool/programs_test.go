package pool_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// TestProgram is a server when a test starts this binary as one.
func TestProgram(*testing.T) {
	for i, arg := range os.Args {
		if arg == "--" && i+1 < len(os.Args) {
			testPrograms[os.Args[i+1]]()
			exit(0)
		}
	}
}

func programArgv(name string) []string {
	return []string{os.Args[0], "-test.run=^TestProgram$", "--", name}
}

// testPrograms are servers over stdio, good and bad.
var testPrograms = map[string]func(){
	"good":   func() { serveLines("") },
	"banner": func() { fmt.Println("Welcome to the server\n[INFO] ready"); serveLines("") },
	"silent": func() { <-time.After(time.Minute) },
	"exit": func() {
		fmt.Fprintln(os.Stderr, "fatal: API key is missing")
		exit(3)
	},
	"tells its key": func() {
		fmt.Fprintf(os.Stderr, "the key %s is not valid\n", os.Getenv("KEY"))
		exit(3)
	},
	"dies when called": func() { serveLines("tools/call") },
	"asks": func() {
		fmt.Println("a line for the log")
		serveLines("")
	},
}

// serveLines is a server with the tool echo, which exits when a request of the
// method fatal comes.
func serveLines(fatal string) {
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(line)
		if err != nil {
			exit(98)
		}
		req, ok := m.(jsonrpc.Request)
		if !ok {
			continue
		}
		if req.Method == fatal {
			exit(1)
		}
		resp := jsonrpc.Response{ID: req.ID, Result: []byte(`{}`)}
		switch req.Method {
		case "initialize":
			resp.Result = []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}`)
		case "tools/list":
			resp.Result = []byte(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			resp.Result = []byte(`{"content":[{"type":"text","text":"done"}]}`)
			switch {
			case bytes.Contains(req.Params, []byte(`"ask"`)):
				fmt.Println(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}`)
				if _, err := lines.ReadBytes('\n'); err != nil {
					return
				}
			case bytes.Contains(req.Params, []byte(`"fail"`)):
				resp.Result, resp.Error = nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "broken", nil)
			}
		}
		fmt.Println(string(resp.AppendJSON(nil)))
	}
}

// exit ends the program that this is.
func exit(status int) { os.Exit(status) } //nolint:forbidigo // a program, not a test
