package trial

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// script is a scenario that is data: what the server answers, what the client does, and
// what is judged.
type script struct {
	id         string
	setup      []func(t *Trial)
	handlers   []*handler
	connect    Step
	steps      []Step
	judgements []judgement
}

// handler answers a method, or the calls of one tool.
type handler struct {
	method, name string
	actions      []action
}

type action func(t *Trial, x *peer.Exchange)

// judgement decides the check id, or reports whether the others can be decided if id is
// empty.
type judgement struct {
	id     string
	decide func(t *Trial, id string) bool
}

// Scripts reads scenarios that are data. A script has these lines, in this order:
//
//	scenario C-ERROR
//	capabilities {"tools":{}}
//	on tools/call echo
//	  error -32602 Unknown tool: echo
//	do tools/call echo {"text":"x"} | within 2s
//	needs tools/call echo
//	C-RSL-03/error-once: count tools/call echo = 1
//	C-ERR-01/code: step 0 error -32602
//
// "on" begins an answer of the server: to a method, or to the calls of one tool. The
// indented lines are its [actions]. "$id" is the id of the request, "$other" an id of the
// other JSON type, "$revision" the revision. "do" is a step of the client. "needs" makes
// the checks inconclusive if the client did not send such a request. The last lines decide
// the checks, by one of the [judges]. "unless CAPABILITY" before it skips the check for
// clients that declare the capability.
func Scripts(file string) []Scenario {
	all, err := readScripts(file)
	if err != nil {
		panic("conformance: " + err.Error()) //nolint:forbidigo // the file is a part of the program
	}
	return all
}

func readScripts(file string) ([]Scenario, error) {
	var out []Scenario
	var s *script
	for line := range strings.Lines(file) {
		line = strings.TrimRight(line, "\n")
		id, begins := strings.CutPrefix(line, "scenario ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case begins:
			s = &script{id: id, connect: Step{Call: Connect}}
			out = append(out, Scenario{ID: id, Play: s.play})
			continue
		}
		if err := s.line(line); err != nil {
			return nil, fmt.Errorf("scenario %s: %q: %w", s.id, line, err)
		}
	}
	return out, nil
}

func (s *script) line(line string) error {
	if text, indented := strings.CutPrefix(line, "  "); indented {
		a, err := readAction(text)
		h := s.handlers[len(s.handlers)-1]
		h.actions = append(h.actions, a)
		return err
	}
	if id, rest, isCheck := strings.Cut(line, ": "); isCheck && strings.HasPrefix(id, "C-") {
		return s.judge(id, rest)
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "capabilities":
		s.setup = append(s.setup, func(t *Trial) { t.Peer.Capabilities = rest })
	case "tools":
		s.setup = append(s.setup, func(t *Trial) { t.Peer.Tools = rest })
	case "sessionless":
		s.setup = append(s.setup, func(t *Trial) { t.Peer.Sessions = false })
	case "elicit-url":
		s.setup = append(s.setup, func(t *Trial) { t.Answers.ElicitURL = rest })
	case "on":
		method, name, _ := strings.Cut(rest, " ")
		s.handlers = append(s.handlers, &handler{method: method, name: name})
	case "do":
		step, err := readStep(rest)
		s.steps = append(s.steps, step)
		return err
	case "connect":
		step, err := readStep(line)
		s.connect = step
		return err
	case "needs":
		return s.judge("", "needs "+rest)
	default:
		return fmt.Errorf("unknown line")
	}
	return nil
}

// readStep reads a step: the method, a name or URI, JSON, and after " | " its bounds.
func readStep(text string) (Step, error) {
	words := strings.Split(text, " | ")
	call, options := words[0], words[1:]
	var data string
	if i := strings.IndexByte(call, '{'); i >= 0 {
		call, data = strings.TrimSpace(call[:i]), call[i:]
	}
	method, name, _ := strings.Cut(call, " ")
	step := Step{Call: method, Name: name}
	switch method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		step.Arguments = json.RawMessage(data)
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe:
		step.Name, step.URI = "", name
	default:
		step.Params = json.RawMessage(data)
	}
	for _, option := range options {
		word, bound, _ := strings.Cut(option, " ")
		if word == "progress" {
			step.Progress = true
			continue
		}
		d, err := time.ParseDuration(bound)
		field := map[string]*int{"within": &step.DeadlineMs, "for": &step.ForMs}[word]
		if err != nil || field == nil {
			return step, fmt.Errorf("%q is no bound of a step", option)
		}
		*field = int(d.Milliseconds())
	}
	return step, nil
}

func readAction(text string) (action, error) {
	word, rest, _ := strings.Cut(text, " ")
	a, known := actions[word]
	if !known {
		return nil, fmt.Errorf("unknown action")
	}
	return func(t *Trial, x *peer.Exchange) {
		other := peer.Quote(strings.Trim(x.ID(), `"`))
		if strings.HasPrefix(x.ID(), `"`) {
			other = "7"
		}
		a(t, x, strings.NewReplacer("$id", x.ID(), "$other", other, "$revision", string(t.Revision)).Replace(rest))
	}, nil
}

// actions are what a server can do, by their first word.
var actions = map[string]func(t *Trial, x *peer.Exchange, rest string){
	"default":     func(_ *Trial, x *peer.Exchange, _ string) { x.Default() },
	"drop":        func(_ *Trial, x *peer.Exchange, _ string) { x.Drop() },
	"stream":      func(_ *Trial, x *peer.Exchange, _ string) { x.Stream() },
	"result":      func(_ *Trial, x *peer.Exchange, rest string) { x.Result(rest) },
	"raw":         func(_ *Trial, x *peer.Exchange, rest string) { x.Raw(rest) },
	"send":        func(_ *Trial, x *peer.Exchange, rest string) { x.Send([]byte(rest)) },
	"bytes":       func(_ *Trial, x *peer.Exchange, rest string) { x.Bytes(rest + "\n\n") },
	"initialized": func(_ *Trial, x *peer.Exchange, rest string) { x.Initialized(rest) },
	"hold": func(_ *Trial, x *peer.Exchange, rest string) {
		d, _ := time.ParseDuration(rest) // 0: no hold, which the tests of the suite notice
		x.Hold(d)
	},
	"error": func(_ *Trial, x *peer.Exchange, rest string) { // CODE MESSAGE [| DATA]
		code, message, _ := strings.Cut(rest, " ")
		n, _ := strconv.ParseInt(code, 10, 64) // as above
		message, data, _ := strings.Cut(message, " | ")
		x.Fail(n, message, data)
	},
	"status": func(_ *Trial, x *peer.Exchange, rest string) { // CODE CONTENT-TYPE | BODY
		head, body, _ := strings.Cut(rest, " | ")
		code, contentType, _ := strings.Cut(head, " ")
		n, _ := strconv.Atoi(code) // as above
		x.Status(n, map[string][]string{"Content-Type": {contentType}}, body)
	},
	"notify": func(_ *Trial, x *peer.Exchange, rest string) { // METHOD PARAMS
		method, params, _ := strings.Cut(rest, " ")
		x.Notify(method, params)
	},
	"ask": func(_ *Trial, x *peer.Exchange, rest string) { // ID METHOD PARAMS
		words := strings.SplitN(rest, " ", 3)
		x.Ask(words[0], words[1], words[2])
	},
	"progress": func(_ *Trial, x *peer.Exchange, rest string) { // VALUE, if the client asked for progress
		if token := x.Param("_meta", mcp.MetaProgressToken); token != nil {
			x.Notify(mcp.MethodProgress, `{"progressToken":`+string(token)+`,"progress":`+rest+`,"total":1}`)
		}
	},
}

func (s *script) play(t *Trial) {
	for _, f := range s.setup {
		f(t)
	}
	for _, h := range s.handlers {
		t.On(h.method, func(x *peer.Exchange) { s.answer(t, x) })
	}
	t.DoExactly(slices.Concat([]Step{s.connect}, s.steps, []Step{{Call: Close}})...)
	for _, j := range s.judgements {
		if !j.decide(t, j.id) {
			return
		}
	}
}

// answer runs the first handler for a message.
func (s *script) answer(t *Trial, x *peer.Exchange) {
	for _, h := range s.handlers {
		if h.method == x.Method() && (h.name == "" || h.name == x.Tool()) {
			for _, a := range h.actions {
				a(t, x)
			}
			return
		}
	}
	x.Default()
}
