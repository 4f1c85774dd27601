package report

import (
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Results have one cause if the same thing happened: the server exits at the same place, or
// gives the same answer where the same was expected. A cause is found from the traffic and
// the texts of a result, never from the name of a server.

// causeKind is what happened. The kinds before causeAnswer are certain enough that checks
// of any rule can share one.
type causeKind int

const (
	causeExit    causeKind = iota // the connection was lost
	causeSilence                  // no answer came
	causeNoise                    // text on standard output that is no message
	causeRefused                  // an HTTP answer without a message
	causeBody                     // an HTTP answer of type JSON whose body is not JSON
	causeEndless                  // a list whose cursors never end
	causeID                       // an answer whose id has another type than that of its request
	causeStale                    // an entry of a file that must go
	causeAnswer                   // any other answer
	causeError                    // one error, with a code of the server's own, for what is different
	causeOpen                     // a check that could not be decided
)

// cause is what happened, in one result. Results with the same key have the same cause.
type cause struct {
	kind causeKind
	key  string
	// method is what was sent; about is what explains the cause, such as a line of the
	// standard error.
	method, about string
}

// clientChecks begins the ids of the checks of clients, where the suite is the server.
const clientChecks = "C-"

// exitNote begins the note of the suite about a program that exited.
const exitNote = "the server exited"

// Texts of the suite about answers that did not come.
const (
	textClosed   = "the server closed the connection"
	textNoAnswer = "no answer"
	textRefused  = "no answer: HTTP "
	textNoise    = "is no message"
	textEndless  = "the list does not end"
	// textNotReached is the detail of checks after the end of a scenario.
	textNotReached = "not reached"
	// textSessionEnded is the detail of checks that need a session which the server has ended.
	textSessionEnded = "the server ended the session with 404, as it may"
	// textOfAll is what passive checks expect: their title.
	textOfAll = "that of all"
)

func causeOf(res *conformance.Result) cause {
	req := requestOf(res)
	c := cause{method: req.Method}
	said := res.Actual + res.Detail
	switch {
	case res.Baseline == conformance.BaselineStale:
		return cause{kind: causeStale, key: "stale"}
	case res.Status == conformance.Skip, res.Status == conformance.Error:
		return cause{kind: causeOpen, key: string(res.Status) + shape(said)}
	case strings.HasPrefix(res.ID, clientChecks):
		c.kind, c.key = causeAnswer, answerKey(res, req)
		if res.Actual == "" {
			c.kind, c.key = causeOpen, "open "+shape(said)
		}
		return c
	case strings.Contains(said, textClosed) && !noise(res):
		c.kind = causeExit
		stderr, exited := exitOf(res)
		place := exitPlace(stderr)
		c.about = exitLine(stderr)
		switch {
		case place != "":
			what, _, _ := strings.Cut(c.about, ":")
			c.key = "exit " + place + " " + clip(what, shapeLimit/2)
		case c.about != "":
			c.key = "exit " + shape(c.about)
		default:
			c.key = fmt.Sprintf("exit %s %v", c.method, exited)
		}
		return c
	case noise(res):
		c.kind, c.key, c.about = causeNoise, "noise", noiseLine(res)
		return c
	}
	if begins := notJSON(res); begins != "" {
		c.kind, c.key, c.about = causeBody, "body", begins
		return c
	}
	if strings.Contains(said, textEndless) && strings.HasSuffix(req.Method, "/list") {
		c.kind, c.key = causeEndless, "endless"
		return c
	}
	if answer, what := refusal(res, req); answer != "" {
		c.kind, c.key, c.about = causeRefused, "refused "+answer+" "+what, answer
		if what == "" || req.Method == "" { // the text alone does not tell two defects apart
			c.key += " " + expectation(res.Expected) + " " + req.subject() + " " + res.Scenario
		}
		return c
	}
	if about := otherID(res); about != "" {
		c.kind, c.key, c.about = causeID, "id "+about, about
		return c
	}
	switch {
	case strings.Contains(said, textNoAnswer) && expectation(res.Expected) != noAnswer:
		if alive(res, req) {
			req, c.method = request{}, ""
		}
		c.kind, c.key = causeSilence, "silence "+req.subject()
		if req.Method == "" {
			c.key += res.Scenario
		}
	case res.Status == conformance.Inconclusive:
		c.kind, c.key = causeOpen, "open "+shape(said)
	case ownError(res.Actual) != "":
		c.kind, c.about = causeError, ownError(res.Actual)
		c.key = fmt.Sprintf("own error %s | advice %v", c.about, res.Level == conformance.Advice)
	default:
		c.kind, c.key = causeAnswer, answerKey(res, req)
	}
	return c
}

// answerKey compares what was expected and what came, for the same request. A server has one
// place that answers unknown methods, so their names do not matter; nor do those of
// notifications that are answered.
func answerKey(res *conformance.Result, req request) string {
	want, got := expectation(res.Expected), answerShape(res.Actual)
	subject, advice := req.subject(), res.Level == conformance.Advice
	if ofAll(res) { // the rule is one of all messages
		subject = ""
	}
	switch {
	case want == unknownMethod && strings.HasPrefix(got, "error "):
		subject, advice = "", false
	case want == noAnswer && (got == "" || got[0] == '{' || strings.HasPrefix(got, "error ")):
		subject, got = "", "an answer"
	case req.Method == "initialize" && got == "" && !ofAll(res):
		want = "" // it is the version that was answered with
	case !strings.HasPrefix(got, "error "): // what it should have rejected differs by scenario
		subject += " " + res.Scenario
	}
	return fmt.Sprintf("answer %s | %s | %s | advice %v", want, got, subject, advice)
}

// request is what the result shows of the last request.
type request struct {
	Method, Tool string
	frame        *conformance.Frame
}

// exhibit returns the messages that what came is about. A check of all messages has each one
// that broke its rule, after its request; what came is about the first.
func exhibit(res *conformance.Result) []conformance.Frame {
	if !ofAll(res) {
		return res.Evidence
	}
	first := slices.IndexFunc(res.Evidence, func(f conformance.Frame) bool { return f.Dir == conformance.FromServer })
	return res.Evidence[:first+1]
}

// ofAll reports whether the check judges every message.
func ofAll(res *conformance.Result) bool { return res.Expected == textOfAll }

func requestOf(res *conformance.Result) request {
	var later request
	evidence := exhibit(res)
	for i := len(evidence) - 1; i >= 0; i-- {
		f := &evidence[i]
		if f.Dir != conformance.ToServer || len(f.Data) == 0 {
			continue
		}
		var m struct{ Method, Params, Result, Error json.RawMessage }
		err := json.Unmarshal(f.Data, &m)
		switch {
		case err == nil && m.Method == nil && (m.Result != nil || m.Error != nil):
			continue // an answer to a request of the server
		case err != nil && f.Size > len(f.Data), err == nil && m.Method != nil:
		default:
			return request{frame: f} // no request at all
		}
		out := request{frame: f}
		if json.Unmarshal(m.Method, &out.Method) != nil {
			out.Method = string(m.Method)
		}
		var p struct{ Name string }
		if json.Unmarshal(m.Params, &p) == nil {
			out.Tool = p.Name
		}
		// The message before a notification, or before the pings that only show whether the
		// server still answers, is what the result is about.
		if out.Method == mcp.MethodPing && isAnswered(evidence[i+1:], f.Data) {
			if later.frame == nil {
				later = out
			}
			continue
		}
		before := i > 0 && evidence[i-1].Dir == conformance.ToServer && len(evidence[i-1].Data) > 0
		if later.frame != nil || !before || out.Method != "ping" && !strings.HasPrefix(out.Method, "notifications/") {
			return out
		}
		later = out
	}
	return later
}

// isAnswered reports whether a ping has its answer among later frames.
func isAnswered(later []conformance.Frame, ping []byte) bool {
	var sent struct{ ID json.RawMessage }
	if json.Unmarshal(ping, &sent) != nil {
		return false
	}
	return slices.ContainsFunc(later, func(f conformance.Frame) bool {
		var got struct{ ID, Result json.RawMessage }
		return f.Dir == conformance.FromServer && json.Unmarshal(f.Data, &got) == nil && string(got.ID) == string(sent.ID) && string(got.Result) == "{}"
	})
}

// alive reports whether the request is a ping that the server answered: it shows that the server
// lives, and is not what got no answer.
func alive(res *conformance.Result, req request) bool {
	if req.Method != mcp.MethodPing {
		return false
	}
	var sent, got struct{ ID, Result json.RawMessage }
	last := &res.Evidence[len(res.Evidence)-1]
	return last.Dir == conformance.FromServer && json.Unmarshal(req.frame.Data, &sent) == nil &&
		json.Unmarshal(last.Data, &got) == nil && got.Result != nil && string(got.ID) == string(sent.ID)
}

// otherID describes an answer whose id has the value of a request's id in another type, if
// the result is about ids or about an answer that did not come.
func otherID(res *conformance.Result) string {
	said := res.Actual + res.Detail
	if !strings.Contains(said, `id "`) && !strings.Contains(said, "id ") && !strings.Contains(said, textNoAnswer) {
		return ""
	}
	sent := map[string]bool{}
	var ids []string
	for i := range res.Evidence {
		var m struct{ ID, Method json.RawMessage }
		if f := &res.Evidence[i]; json.Unmarshal(f.Data, &m) != nil || m.ID == nil {
			continue
		} else if f.Dir == conformance.ToServer && !ofAll(res) {
			sent[string(m.ID)] = true
		} else if m.Method == nil {
			ids = append(ids, string(m.ID))
		}
	}
	for _, id := range ids {
		bare := strings.Trim(id, `"`)
		switch _, err := strconv.ParseInt(bare, 10, 64); {
		case err != nil, sent[id]:
		case id != bare && (sent[bare] || len(sent) == 0): // a passive check sent nothing
			return "an integer id comes back as a string"
		case id == bare && sent[strconv.Quote(bare)]:
			return "a string id comes back as an integer"
		}
	}
	return ""
}

var plainName = lazyregexp.New(`^[A-Za-z0-9_.-]{1,64}$`)

// subject names the method, and the tool of a call. Names that no server has are the same.
func (r request) subject() string {
	switch {
	case r.Tool == "":
		return r.Method
	case strings.Contains(strings.ToLower(r.Tool), "no-such"), !plainName.MatchString(r.Tool):
		return r.Method + " unknown"
	}
	return r.Method + " " + r.Tool
}

// exitOf returns the standard error of a program that exited.
func exitOf(res *conformance.Result) (stderr string, exited bool) {
	for i := len(res.Evidence) - 1; i >= 0; i-- {
		if text, found := strings.CutPrefix(res.Evidence[i].Note, exitNote); found {
			_, text, _ = strings.Cut(strings.TrimSuffix(text, ")"), ": ")
			return text, true
		}
	}
	// or what the engine has added to the outcome: (status 3: …)
	if _, text, found := strings.Cut(res.Actual, textClosed+" (status "); found {
		_, text, _ = strings.Cut(strings.TrimSuffix(text, ")"), ": ")
		return text, true
	}
	return "", false
}

// crash is the line of a runtime about the end of a program, in Go, Rust, Python,
// JavaScript and Java.
var crash = lazyregexp.New(`^(?:panic: |fatal error: |thread '.*' panicked|Uncaught |Exception in thread|Unhandled |[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)\b|Segmentation fault|SIG[A-Z]+|\[UnhandledPromiseRejection: )`)

// ofStack is a line that follows the reason of an exit: a frame, or what runtimes add. The first are
// those of Go, in which only they are not indented.
var ofStack = lazyregexp.New(`^(?:[\w./*()\[\]{}…-]+\(.*\)$|goroutine \d+|created by |\[signal |exit status \d+$|\s|at |Node\.js v|note: |stack backtrace:|Caused by|\.\.\. |…|\^|from |[{}]$)`)

// panicked are the reasons after which only a stack comes.
var panicked = lazyregexp.New(`^(?:panic: |fatal error: |thread '|Uncaught |Exception in thread|Unhandled )`)

// exitLine returns the line of a standard error that explains the exit: that of a crash, unless lines
// of something else follow, or the last one. Groups of exceptions have a margin of lines and signs.
func exitLine(stderr string) string {
	reason, last, opened := "", "", false
	for line := range strings.Lines(stderr) {
		whole := strings.TrimRight(line, "\r\n\t ")
		line = strings.TrimLeft(whole, " |+-")
		if !strings.HasPrefix(strings.TrimLeft(whole, " "), "|") {
			line = whole
		}
		switch {
		case line == "" || strings.Trim(line, " |+-") == "":
			continue
		case opened: // the reason is in a line of its own
			reason, opened = reason+" "+strings.TrimSpace(line), false
		case crash.MatchString(line) && !(panicked.MatchString(reason) && strings.HasPrefix(whole, " ")):
			reason = line
			opened = strings.HasPrefix(line, "thread '") && strings.HasSuffix(line, ":")
		case reason != "" && !panicked.MatchString(reason) && !ofStack.MatchString(line):
			reason = ""
		}
		if !strings.HasPrefix(line, "Node.js v") {
			last = line
		}
	}
	if reason == "" {
		reason = last
	}
	return strings.TrimSpace(reason)
}

// place is a line of a stack in a standard error, of Python or JavaScript, Go or Rust.
var place = lazyregexp.New(`File "([^"]+)", line (\d+)|at .*?\(?([^\s()]+:\d+):\d+\)?$|^\t(\S+\.go:\d+)|panicked at ([^\s,]+:\d+)`)

// exitPlace returns the innermost place of a stack: the last of Python, else the first.
func exitPlace(stderr string) string {
	found := ""
	for line := range strings.Lines(stderr) {
		m := place.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		switch {
		case m == nil:
		case m[1] != "":
			found = m[1] + ":" + m[2]
		case found == "" && !strings.Contains(line, "/src/runtime/"): // Go's own, where every panic begins
			found = m[3] + m[4] + m[5]
		}
	}
	return found
}

// noise reports whether the result is about text on standard output that is no message.
func noise(res *conformance.Result) bool {
	return strings.Contains(res.Actual+res.Detail, textNoise) && strings.Contains(res.Actual+res.Detail, "standard output") || strayLine(res) != ""
}

// strayLine returns the first line that is no message, if the result names it as what came.
func strayLine(res *conformance.Result) string {
	for i := range res.Evidence {
		f := &res.Evidence[i]
		line := strings.TrimSpace(string(f.Data))
		if f.Dir != conformance.FromServer || f.HTTP != nil || f.Note == "" || line == "" || line[0] == '{' || line[0] == '[' {
			continue
		}
		if strings.Contains(res.Actual, line[:min(len(line), 40)]) {
			return line
		}
	}
	return ""
}

func noiseLine(res *conformance.Result) string {
	if line := strayLine(res); line != "" {
		return line
	}
	for i := range res.Evidence {
		if f := &res.Evidence[i]; f.Dir == conformance.FromServer && strings.Contains(f.Note, textNoise) {
			return strings.TrimSpace(string(f.Data))
		}
	}
	return ""
}

// refusal returns the HTTP answer that has no message where one was expected, such as
// "400 text/plain", and its text without what was sent.
func refusal(res *conformance.Result, req request) (answer, what string) {
	var last *conformance.Frame
	for i := range res.Evidence {
		if f := &res.Evidence[i]; f.Dir == conformance.FromServer && f.HTTP != nil && f.HTTP.Status != 0 {
			last = f
		}
	}
	const firstFailure = 400
	switch {
	case last == nil:
		if _, text, found := strings.Cut(res.Actual, textRefused); found {
			text, _, _ = strings.Cut(text, ";")
			return strings.TrimSpace(text), ""
		}
		return "", ""
	case last.HTTP.Status < firstFailure, isMessage(last.Data):
		return "", ""
	}
	media, _, err := mime.ParseMediaType(last.HTTP.ContentType)
	if err != nil {
		media = "without content"
	}
	body := string(last.Data)
	if name := strings.TrimSpace(req.Method); len(name) > 2 {
		body = strings.ReplaceAll(body, name, " ")
	}
	return strconv.Itoa(last.HTTP.Status) + " " + media, shape(body)
}

// notJSON returns the first line of the last answer over HTTP, if its type is JSON and its body is
// not.
func notJSON(res *conformance.Result) string {
	for i := len(res.Evidence) - 1; i >= 0; i-- {
		f := &res.Evidence[i]
		if f.Dir != conformance.FromServer || f.HTTP == nil || f.HTTP.Status == 0 {
			continue
		}
		media, _, _ := mime.ParseMediaType(f.HTTP.ContentType) // "" is not JSON either
		if media != "application/json" || f.Note == "" || len(f.Data) == 0 || f.Size > len(f.Data) || json.Valid(f.Data) {
			return ""
		}
		line, _, _ := strings.Cut(strings.TrimSpace(string(f.Data)), "\n")
		return line
	}
	return ""
}

// ownErrorText is an error of a text about what came, with its code and message.
var ownErrorText = lazyregexp.New(`\berror (-?\d+) ("(?:[^"\\]|\\.)*")`)

// ownError returns the error that came, if its code is none of those that JSON-RPC reserves.
func ownError(actual string) string {
	m := ownErrorText.FindStringSubmatch(actual)
	if m == nil {
		return ""
	}
	const first, last = -32768, -32000 // https://www.jsonrpc.org/specification#error_object
	if code, err := strconv.Atoi(m[1]); err != nil || code >= first && code <= last {
		return ""
	}
	return "error " + m[1] + " " + clip(m[2], shapeLimit)
}

// isMessage reports whether data is a JSON-RPC message.
func isMessage(data []byte) bool {
	var m struct {
		Result, Error json.RawMessage
		JSONRPC       string `json:"jsonrpc"`
	}
	return json.Unmarshal(data, &m) == nil && (m.JSONRPC != "" || m.Error != nil || m.Result != nil)
}

// What is expected of an unknown method, and of a notification.
const (
	unknownMethod = "-32601"
	noAnswer      = "no answer"
)

var errorCode = lazyregexp.New(`-3[0-9]{4}`)

// expectation returns the essence of what was expected.
func expectation(text string) string {
	codes := errorCode.FindAllString(text, -1)
	for _, code := range codes {
		if code == unknownMethod {
			return code
		}
	}
	switch {
	case len(codes) > 0:
		return codes[0]
	case strings.HasPrefix(text, noAnswer), strings.HasPrefix(text, "nothing"):
		return noAnswer
	case strings.HasPrefix(text, "an error"), strings.Contains(text, `"error":"$object"`), strings.Contains(text, `"error":{`):
		return "error"
	}
	return shape(text)
}

var (
	errorAnswer = lazyregexp.New(`^error (-?\d+)`)
	mismatch    = lazyregexp.New(` \((/[^)]*)\)$`)
)

// answerShape returns the essence of what came: a result, an error with its code, or the
// text without names and numbers.
func answerShape(text string) string {
	var out string
	switch m := errorAnswer.FindStringSubmatch(text); {
	case m != nil:
		out = "error " + m[1]
	case strings.HasPrefix(text, "result ") && strings.Contains(text, `"isError":true`):
		out = "isError"
	case strings.HasPrefix(text, "result "):
		out = "result"
	default:
		return shape(text)
	}
	if m := mismatch.FindStringSubmatch(text); m != nil && !strings.HasPrefix(m[1], "/error") {
		out += " " + shape(m[1])
	}
	return out
}

var (
	quoted  = lazyregexp.New(`"[^"]*"|'[^']*'` + "|`[^`]*`")
	numbers = lazyregexp.New(`[0-9]+`)
	// long words are ids, or what was sent.
	long   = lazyregexp.New(`\S{40,}`)
	spaces = lazyregexp.New(`\s+`)
)

// shape returns text without what differs between two of the same kind: what is quoted,
// numbers and ids.
func shape(text string) string {
	text = quoted.ReplaceAllString(text, "")
	text = long.ReplaceAllString(text, "")
	text = numbers.ReplaceAllString(text, "")
	text = strings.TrimSpace(spaces.ReplaceAllString(text, " "))
	return clip(text, shapeLimit)
}

const shapeLimit = 120
