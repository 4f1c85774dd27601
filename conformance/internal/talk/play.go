package talk

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// kindsOfServer are the words after "<": the era, the transport, and whether the
// server announces our error profiles.
var kindsOfServer = []string{"session", "stateless", "stdio", "http", "sse", "house"}

// player plays a conversation on one session.
type player struct {
	*engine.Trial
	s    *wire.Session
	kept map[string]json.RawMessage // by name

	id     string // of the last message
	want   *Turn  // what has to come of it
	answer wire.Answer
	err    error
	stray  []wire.Inbound // what came where nothing may
}

// Run says the lines of each check on one session.
func (c *Conversation) Run(t *engine.Trial) {
	open := t.Fresh
	if c.shared {
		open = t.Shared
	}
	p := player{Trial: t, s: open(), kept: map[string]json.RawMessage{}}
	for _, check := range c.Checks {
		if t.Decided(check) && !c.endsAlive() {
			continue // left out by the caller
		}
		t.Step(p.s)
		p.say(check, c.Turns[check])
	}
}

// say decides one check. The first answer that is not as it should be ends it;
// an error is the end of the session.
func (p *player) say(check string, turns []Turn) {
	for i := range turns {
		line := &turns[i]
		switch {
		case line.alive:
			Alive(p.Trial, check, p.s)
			return
		case line.Send != nil:
			rest := turns[i+1:]
			if next := slices.IndexFunc(rest, func(t Turn) bool { return t.Send != nil }); next >= 0 {
				rest = rest[:next]
			}
			p.send(line, rest)
		case line == p.want:
			if !p.judge(check) {
				return
			}
		case !p.applies(check, line):
			return
		}
	}
	p.Pass(check)
}

// send sends a line and judges the answers. rest are the lines about them.
func (p *player) send(line *Turn, rest []Turn) {
	var data []byte
	p.id, data = p.message(line)
	p.want, p.answer, p.err, p.stray = nil, wire.Answer{}, nil, nil
	read := false // whatever comes
	for i := range rest {
		t := &rest[i]
		if answers := t.Want != nil || t.None || t.refused != 0; answers && p.isOne(t.where) {
			p.want = t
		}
		read = read || t.keep != "" || t.needs != ""
	}
	var err error
	switch {
	case p.want == nil && read:
		p.answer, err = p.s.Ask(p.Ctx, p.id, data)
	case p.want == nil:
		_, err = p.s.Send(p.Ctx, data)
	case p.want.None:
		if _, err = p.s.Send(p.Ctx, data); err == nil {
			p.stray, p.err = p.s.Settle(p.Ctx)
			p.s.Forget() // they are for this message, not for the next one
		}
	case p.want.refused != 0:
		p.answer, p.err = Refusal(p.Trial, p.s, p.id, data)
	case p.want.ID == "":
		p.answer, p.err = p.s.Provoke(p.Ctx, "", data)
	default:
		p.answer, p.err = p.s.Provoke(p.Ctx, p.id, data)
	}
	if read && err == nil {
		err = p.err // there is nothing to read
	}
	p.NoError(err)
}

// isOne reports whether the server is one of a kind.
func (p *player) isOne(kind []string) bool {
	for _, word := range kind {
		switch word {
		case "session", "stateless":
			if p.Rev.Stateless() != (word == "stateless") {
				return false
			}
		case "house":
			if !p.Rev.Profiled {
				return false
			}
		default:
			if string(p.s.Conn.Transport()) != word {
				return false
			}
		}
	}
	return true
}

// judge reports whether what came is what had to, and decides the check if not. An
// error that no check expects ends the scenario.
func (p *player) judge(check string) (holds bool) {
	switch {
	case p.want.None:
		stray := slices.DeleteFunc(p.stray, isRefusal)
		if p.err == nil && len(stray) == 0 {
			return true
		}
		p.Fail(check, "no answer", Stray(stray, p.err))
		p.NoError(p.err)
		return false
	case p.want.refused != 0:
		Unserved(p.Trial, check, p.answer, p.err, p.want.refused)
		return false // it decides either way
	}
	pattern := p.want.Want.with(p.id)
	reason := ""
	if p.err == nil {
		reason = pattern.Fault(p.answer.In.Data)
	}
	switch {
	case reason != "" && p.answer.Err != nil && !pattern.wantsError() && strings.HasSuffix(p.s.Methods[p.id], "/list"):
		p.Inconclusive(check, p.answer.Describe()) // any list may be refused, and says nothing then
	case p.err != nil || reason != "":
		p.Fail(check, string(pattern.text), "%s", strings.TrimSpace(p.answer.OrError(p.err)+" "+reason))
	default:
		return true
	}
	return false
}

// applies skips a check when a line says that it does not apply, and keeps values.
func (p *player) applies(check string, line *Turn) bool {
	switch {
	case line.unless != "" && p.Rev.Capabilities.Has(line.unless):
		p.Skip(check, conformance.SkipNotDeclared, "capabilities."+line.unless+" is declared")
	case line.when != "" && !p.Rev.Capabilities.Has(line.when):
		p.Skip(check, conformance.SkipNotDeclared, "capabilities."+line.when+" absent")
	case line.needs != "" && valueAt(p.answer.In.Data, line.needs) == nil:
		p.Skip(check, conformance.SkipPrerequisite, p.answer.Describe())
	case line.keep != "":
		p.kept[line.keep] = valueAt(p.answer.In.Data, line.path)
		if p.kept[line.keep] != nil {
			return true
		}
		p.Skip(check, conformance.SkipNoFixture, line.without)
	default:
		return true
	}
	return false
}

// message makes what is sent of a line, and its id: with kept values, a method that
// every server answers for "$alive", and an id of its own for "$id". To a request is
// added what the revision asks of each; a member that is "$absent" is left out.
func (p *player) message(line *Turn) (id string, data []byte) {
	text := strings.ReplaceAll(string(line.Send), "$alive", p.s.LifeSign())
	for name, value := range p.kept {
		text = strings.ReplaceAll(text, `"$`+name+`"`, string(value))
	}
	id = line.ID
	if id == ownID {
		id = p.s.NewID()
		text = strings.ReplaceAll(text, ownID, id)
	}
	if line.raw {
		return id, []byte(text)
	}
	given := wire.Received([]byte(text), nil).Members
	method := rawjson.Text(given["method"])
	if method == "" || method == absent {
		method = p.s.LifeSign()
	}
	all := wire.Received(p.s.Message(id, method, paramsOf(given)), nil).Members
	for name, value := range given {
		switch {
		case string(value) == `"`+absent+`"`:
			delete(all, name)
		case name != "params":
			all[name] = value
		}
	}
	return id, rawjson.Encode(all)
}

// paramsOf returns the params of a message, nil when it has none.
func paramsOf(members map[string]json.RawMessage) any {
	raw, ok := members["params"]
	if !ok {
		return nil
	}
	var params map[string]any
	if json.Unmarshal(raw, &params) != nil {
		return raw
	}
	return params
}

// valueAt returns the value at a path such as /result/resources/0/uri, nil when there
// is none.
func valueAt(data []byte, path string) json.RawMessage {
	value := json.RawMessage(data)
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		var elements []json.RawMessage
		if i, err := strconv.Atoi(part); err == nil && json.Unmarshal(value, &elements) == nil && i < len(elements) {
			value = elements[i]
			continue
		}
		members, _ := rawjson.Object(value)
		value = members[part]
	}
	return value
}

// isRefusal reports whether this is the body of an HTTP refusal: it may be an error
// without an id, and answers nothing.
func isRefusal(in wire.Inbound) bool {
	id := in.ID()
	return in.HTTP != nil && in.HTTP.Status >= http.StatusBadRequest && (id == "" || id == "null")
}
