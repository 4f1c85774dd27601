package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// fake is a small MCP server with switchable faults. It writes every frame it
// gets to a file, so that tests can say what was sent and what was not.
type fake struct {
	mode   string
	frames io.Writer
	mu     sync.Mutex
	shared atomic.Bool  // the client has told its roots, in the mode shares
	listed atomic.Int64 // requests for tools or pings, in the modes that change them

	// In the modes that ask: the id of the call that waits for an answer, and what the client
	// declared.
	waits, declared json.RawMessage
}

// fakeTools are the tools of the fake. Their order, spacing and numbers are
// part of the tests.
const fakeTools = `{"name":"echo","title":"Echo","description":"Says it again","inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"What to say"}},"required":["message"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}},
{"name":"add","description":"Adds two numbers","inputSchema":{"type":"object","properties":{"a":{"type":"integer","minimum":-1.50e3},"b":{"type":"integer"},"mode":{"type":"string","enum":["fast","exact"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["a","b"],"additionalProperties":false},"x-vendor":{"z":1.0,"a":9007199254740993}},
{"name":"any","description":"Takes anything","inputSchema":{"type":"object"}},
{"name":"image","inputSchema":{"type":"object"}},
{"name":"notobject","inputSchema":{"type":"object"}},
{"name":"large","inputSchema":{"type":"object"}},
{"name":"fail","inputSchema":{"type":"object"}},
{"name":"refuse","inputSchema":{"type":"object"}},
{"name":"gossip","inputSchema":{"type":"object"}},
{"name":"badout","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},
{"name":"hostile","description":"\u001b]0;owned\u0007 and \u202egnp.exe","inputSchema":{"type":"object"}},
{"name":"loop","inputSchema":{"$ref":"#"}},
{"name":"hang","inputSchema":{"type":"object"}},
{"name":"asks","inputSchema":{"type":"object"}},
{"name":"progress","inputSchema":{"type":"object"}},
{"name":"chatty","inputSchema":{"type":"object"}},
{"name":"env","inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}},
{"name":7,"description":"a tool whose name is a number"}`

type fakeRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		URI       string          `json:"uri"`
		Cursor    string          `json:"cursor"`
		Version   string          `json:"protocolVersion"`
		Task      json.RawMessage `json:"task"`
		TaskID    string          `json:"taskId"`
		Declares  json.RawMessage `json:"capabilities"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// notes are what the fake says while it works on a request.
func (r *fakeRequest) notes() []string {
	token := string(r.Params.Meta.ProgressToken)
	return []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1,"total":2,"message":"half"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"fake","data":"working"}}`,
	}
}

// answer returns the frames that answer one frame; none for notifications and
// for what the mode leaves without an answer.
func (f *fake) answer(frame []byte) []string {
	f.mu.Lock()
	fmt.Fprintf(f.frames, "%s\n", frame)
	f.mu.Unlock()
	var r fakeRequest
	if err := json.Unmarshal(frame, &r); err != nil || r.ID == nil {
		if f.mode == "shares" && r.Method == "notifications/initialized" {
			return []string{`{"jsonrpc":"2.0","id":"roots","method":"roots/list"}`}
		}
		return nil
	}
	if f.mode == "shares" && string(r.ID) == `"roots"` { // it looks at them for a moment
		time.AfterFunc(30*time.Millisecond, func() { f.shared.Store(true) })
		return nil
	}
	result := func(text string) []string {
		return []string{`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":` + text + `}`}
	}
	failed := func(code int, message, data string) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}`, r.ID, code, message, data)}
	}
	if f.mode == "talkative" && r.Params.Meta.ProgressToken != nil {
		plain := result
		result = func(text string) []string { return append(r.notes(), plain(text)...) }
	}
	if answer := f.stateless(r, result, failed); answer != nil {
		return answer
	}
	if answer := f.skills(r, result, failed); answer != nil {
		return answer
	}
	if answer := f.strange(r, result); answer != nil {
		return answer
	}
	if answer := f.shelf(r, result, failed); answer != nil {
		return answer
	}
	if f.mode == "shares" && r.Method == "tools/call" {
		text := "nothing is shared"
		if f.shared.Load() {
			text = "shared"
		}
		return result(`{"content":[{"type":"text","text":"` + text + `"}]}`)
	}
	if answer := f.asking(frame, r, result, failed); answer != nil {
		return answer
	}
	switch r.Method {
	case "initialize":
		if f.mode == "refuse-start" {
			return failed(-32603, "not today", "null")
		}
		capabilities := `{"tools":{},"prompts":{"listChanged":true}}`
		if f.mode == "no-tools" {
			capabilities = `{}`
		}
		return result(`{"protocolVersion":"` + r.Params.Version + `","capabilities":` + capabilities + `,"serverInfo":{"name":"fake","version":"1.0"},"instructions":"Be\u001b[31m nice"}`)
	case "ping":
		if f.mode == "no-ping" || f.mode == "ping-twice" && f.listed.Add(1) > 2 {
			return failed(-32603, "not today", "null")
		}
		return result(`{}`)
	case "tools/list":
		switch {
		case f.mode == "circle":
			return result(`{"tools":[],"nextCursor":"again"}`)
		case f.mode == "endless":
			return result(fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, f.listed.Add(1)))
		case f.mode == "no-tools-answer":
			return nil
		case f.mode == "no-list":
			return result(`{"things":[]}`)
		case f.mode == "truncated-list":
			return []string{`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"tools":[{"name":"echo","inpu`}
		case f.mode == "oversized":
			return result(`{"tools":[{"name":"echo","description":"` + strings.Repeat("x", 17<<20) + `","inputSchema":{"type":"object"}}]}`)
		case f.mode == "changing" || f.mode == "changes" && f.listed.Add(1) == 1:
			return append([]string{`{"jsonrpc":"2.0","method":"notifications\/tools\/list_changed"}`}, result(`{"tools":[]}`)...)
		case f.mode == "half-a-list" && r.Params.Cursor != "":
			return nil
		case r.Params.Cursor == "":
			first, _, _ := strings.Cut(fakeTools, ",\n")
			return result(`{"tools":[` + first + `],"nextCursor":"2"}`)
		}
		_, rest, _ := strings.Cut(fakeTools, ",\n")
		return result(`{"tools":[` + strings.ReplaceAll(rest, "\n", "") + `]}`)
	case "prompts/list":
		return result(`{"prompts":[{"name":"greet","description":"A greeting","arguments":[{"name":"who","required":true},{"name":"how"}]}]}`)
	case "tools/call":
		return f.call(r, result, failed)
	}
	return failed(-32601, "Method not found", "null")
}

// stateless is what the fake answers in the modes stateless and only-stateless, where it
// knows the stateless era: every request has the revision.
func (f *fake) stateless(r fakeRequest, result func(string) []string, failed func(int, string, string) []string) []string {
	const revision = `"2026-07-28"`
	if f.mode != "stateless" && f.mode != "only-stateless" {
		return nil
	}
	switch {
	case r.Method == "initialize" && f.mode == "only-stateless":
		return failed(-32022, "Unsupported protocol version", `{"supported":[`+revision+`],"requested":"`+r.Params.Version+`"}`)
	case r.Method == "server/discover":
		return result(`{"supportedVersions":[` + revision + `],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private",` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.0"}}}`)
	case r.Method == "tools/call" && r.Params.Name == "asks":
		return failed(-32021, "Missing required client capability", `{"requiredCapabilities":{"elicitation":{}}}`)
	case r.Method == "ping":
		return failed(-32601, "Method not found", "null")
	}
	return nil
}

func (f *fake) call(r fakeRequest, result func(string) []string, failed func(int, string, string) []string) []string {
	if f.mode == "spoil-save" { // the folder that --save was promised
		_ = os.RemoveAll("later")
		_ = os.WriteFile("later", nil, 0o600)
	}
	switch r.Params.Name {
	case "large":
		return result(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 128<<10) + `"}]}`)
	case "notobject":
		return result(`[1]`)
	case "echo":
		var args struct{ Message string }
		_ = json.Unmarshal(r.Params.Arguments, &args)
		text, _ := json.Marshal("Echo: " + args.Message)
		return result(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
	case "add":
		return result(`{"content":[],"structuredContent":{"z":1.0,"sum":9007199254740993}}`)
	case "loop":
		return result(`{"content":[]}`)
	case "any":
		return result(`{"structuredContent":` + string(r.Params.Arguments) + `,"content":[]}`)
	case "image":
		return result(`{"content":[{"type":"text","text":"Here:"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},{"type":"resource_link","uri":"file:///x","name":"x"},{"type":"hologram","data":1}]}`)
	case "fail":
		return result(`{"content":[{"type":"text","text":"it did not work"}],"isError":true}`)
	case "refuse":
		return failed(-32050, "backend down", `{"z":1.0,"since":9007199254740993}`)
	case "gossip":
		data, _ := json.Marshal(map[string]any{"dsn": os.Getenv("DSN"), "since": json.Number("9007199254740993")})
		return failed(-32051, "cannot open "+os.Getenv("DSN"), string(data))
	case "badout":
		switch args := string(r.Params.Arguments); {
		case strings.Contains(args, "nothing"):
			return result(`{"content":[{"type":"text","text":"nothing structured"}]}`)
		case args != "{}":
			return result(`{"content":[],"structuredContent":` + args + `}`)
		}
		return result(`{"content":[{"type":"text","text":"n is x"}],"structuredContent":{"n":"x"}}`)
	case "hostile":
		return result(`{"content":[{"type":"text","text":"\u001b[31mred\u001b[0m \u202eevil\u007f"}]}`)
	case "env":
		var args struct{ Name string }
		_ = json.Unmarshal(r.Params.Arguments, &args)
		text, _ := json.Marshal(os.Getenv(args.Name))
		return result(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
	case "progress":
		return append(r.notes(), result(`{"content":[{"type":"text","text":"done"}]}`)...)
	case "chatty":
		var notes []string
		for n := range 50 {
			notes = append(notes, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, n))
		}
		return append(notes, result(`{"content":[]}`)...)
	case "hang":
		return nil
	}
	return failed(-32602, "Unknown tool: "+r.Params.Name, "null")
}

// fakeMain is the program: fakeserver [MODE]. Frames go to the file FRAMES.
func fakeMain() {
	os.Exit(fakeServer()) //nolint:forbidigo // this is a program's main, by the name testscript gives it
}

func fakeServer() int {
	f := &fake{frames: io.Discard}
	if len(os.Args) > 1 {
		f.mode = os.Args[1]
	}
	if name := os.Getenv("FRAMES"); name != "" {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		f.frames = file
	}
	switch f.mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "FATAL: DB_URL is not set")
		return 3
	case "gossip":
		fmt.Fprintln(os.Stderr, "password=hunter2222 and "+os.Getenv("DSN"))
		fmt.Fprintln(os.Stderr, "Authorization: Bearer abcdefgh")
		return 3
	case "banner":
		fmt.Println("Hello I am a banner \x1b[31mon stdout!")
	case "talk":
		fmt.Fprintln(os.Stderr, "listening\x1b[2J")
	case "mute":
		fmt.Fprintln(os.Stderr, "still loading")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if f.mode == "stubborn" || f.mode == "deaf" {
				told := make(chan os.Signal, 1)
				signal.Notify(told, syscall.SIGTERM)
				<-told
				if f.mode == "deaf" {
					<-told // there is no second one; only a kill ends this
				}
			}
			return 0
		}
		if f.mode == "leaves" && strings.Contains(string(line), "server/discover") {
			fmt.Fprintln(os.Stderr, "expected initialize")
			return 1
		}
		if f.mode == "ignores" && strings.Contains(string(line), "server/discover") {
			f.answer(line)
			continue
		}
		if f.mode == "die-in-call" && strings.Contains(string(line), "tools/call") {
			f.answer(line)
			fmt.Fprintln(os.Stderr, "panic: boom")
			return 9
		}
		for _, answer := range f.answer(line[:len(line)-1]) {
			fmt.Println(answer)
		}
		if strings.Contains(string(line), `"name":"quits"`) {
			return 3
		}
	}
}

// fakeHTTP serves the fake over HTTP at /mcp, and faults at other paths.
func fakeHTTP(frames io.Writer) http.Handler {
	mux := http.NewServeMux()
	serve := func(mode string) http.HandlerFunc {
		f := &fake{mode: mode, frames: frames}
		return func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			if r.Header.Get("X-Test") != "" {
				fmt.Fprintf(frames, "X-Test: %s\nUser-Agent: %s\nAuthorization: %s\n", r.Header.Get("X-Test"), r.UserAgent(), r.Header.Get("Authorization"))
			}
			answers := f.answer(body)
			if len(answers) == 0 {
				if strings.Contains(string(body), `"hang"`) && strings.Contains(string(body), "tools/call") {
					<-r.Context().Done()
					return
				}
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answers[len(answers)-1])
		}
	}
	fixed := func(status int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	mux.HandleFunc("/mcp", serve(""))
	mux.HandleFunc("/stateless", serve("stateless"))
	mux.HandleFunc("/skills", serve("skills"))
	mux.HandleFunc("/truncated", serve("truncated-list"))
	mux.HandleFunc("/oversized", serve("oversized"))
	mux.HandleFunc("/html", fixed(http.StatusOK, "text/html", "<!doctype html>\n<title>Sign in</title>\n"))
	mux.HandleFunc("/gone", fixed(http.StatusNotFound, "text/html", "<html>not here</html>"))
	mux.HandleFunc("/login", fixed(http.StatusUnauthorized, "text/plain", "who are you"))
	mux.HandleFunc("/forbidden", fixed(http.StatusForbidden, "text/plain", "not you"))
	mux.HandleFunc("/busy", fixed(http.StatusTooManyRequests, "text/plain", "later"))
	mux.HandleFunc("/overloaded", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, "full", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/expiring", expiring(serve("")))
	mux.HandleFunc("/echoing", echoing(serve("")))
	mux.HandleFunc("/overloaded-later", overloadedLater(serve("")))
	mux.HandleFunc("/silent", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or a client that leaves is not seen
		<-r.Context().Done()
	})
	mux.HandleFunc("/broken", fixed(http.StatusBadGateway, "text/plain", "bad gateway"))
	return mux
}

// expiring takes the credentials of a few requests, and then no others.
func expiring(next http.HandlerFunc) http.HandlerFunc {
	var posts atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		const few = 7 // the suite introduces itself with six
		if r.Method == http.MethodPost && posts.Add(1) > few {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

// echoing refuses calls of tools with what the request was sent with.
func echoing(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var req fakeRequest
		if err == nil && json.Unmarshal(body, &req) == nil && req.Method == "tools/call" {
			text, _ := json.Marshal(strings.Join([]string{r.Header.Get("Authorization"), r.Header.Get("X-Tenant"), r.URL.RawQuery}, " "))
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32050,"message":%s,"data":[%s]}}`, req.ID, text, text)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next(w, r)
	}
}

// overloadedLater serves all but calls of tools, which it has no time for.
func overloadedLater(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && strings.Contains(string(body), "tools/call") {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "full", http.StatusServiceUnavailable)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next(w, r)
	}
}
