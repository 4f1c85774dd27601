package trial

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
)

// judge adds a judgement.
func (s *script) judge(id, text string) error {
	unless := ""
	if rest, is := strings.CutPrefix(text, "unless "); is {
		unless, text, _ = strings.Cut(rest, " ")
	}
	word, rest, _ := strings.Cut(text, " ")
	read, known := judges[word]
	if !known {
		return fmt.Errorf("unknown judgement")
	}
	decide, err := read(rest)
	s.judgements = append(s.judgements, judgement{id, func(t *Trial, id string) bool {
		if unless != "" && t.Declares(unless) {
			t.Skip(id, "the client declares "+unless)
			return true
		}
		return decide(t, id)
	}})
	return err
}

type decider = func(t *Trial, id string) bool

// always makes a decider that leaves no other check inconclusive.
func always(decide func(t *Trial, id string)) (decider, error) {
	return func(t *Trial, id string) bool {
		decide(t, id)
		return true
	}, nil
}

// judges are what can be judged, by their first word.
var judges = map[string]func(rest string) (decider, error){
	"needs": readNeeds, "step": readReported, "count": readCount, "none": readNone, "quiet": readQuiet,
	"answers": readAnswers, "param": readParam, "unsent": readUnsent, "header": readHeader,
}

// selected returns the requests of "METHOD [TOOL]".
func (r *Run) selected(text string) []*peer.Message {
	method, tool, isCall := strings.Cut(text, " ")
	if isCall {
		return r.Calls(tool)
	}
	return r.Sent(method)
}

// needs METHOD [TOOL]: such a request was sent.
func readNeeds(rest string) (decider, error) {
	return func(t *Trial, _ string) bool { return t.Needs(len(t.selected(rest)) > 0, rest+" was not sent") }, nil
}

// step N WANT: what the client reported of a step, or of connect.
func readReported(rest string) (decider, error) {
	step, text, _ := strings.Cut(rest, " ")
	i, err := strconv.Atoi(step)
	if step == Connect {
		i, err = -1, nil
	}
	word, value, _ := strings.Cut(text, " ")
	var want Want
	switch word {
	case "text":
		want = Result(value)
	case "without":
		want = without(value)
	case "mentions":
		want = mentions(value)
	case "failed":
		want = Failed("an error")
	case "no-result":
		want = Want{"no result", func(l Line) bool { return l.Outcome != OutcomeResult }}
	case "ends":
		want = Want{"a result whose text ends with " + value, func(l Line) bool { return l.Outcome == OutcomeResult && strings.HasSuffix(l.Text(), value) }}
	case "error":
		code, bad := strconv.ParseInt(value, 10, 64)
		want, err = ErrorCode(code), bad
	case "code":
		want = Want{"error " + value, func(l Line) bool { return strconv.FormatInt(l.Code, 10) == value }}
	default:
		err = fmt.Errorf("%q is no outcome", word)
	}
	if err != nil {
		return nil, err
	}
	return always(func(t *Trial, id string) { t.Reported(id, i, want) })
}

// count METHOD [TOOL] = N, <= N or >= N: how many requests were sent.
func readCount(rest string) (decider, error) {
	words := strings.Fields(rest)
	sign, what := words[len(words)-2], strings.Join(words[:len(words)-2], " ")
	n, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return nil, err
	}
	return always(func(t *Trial, id string) {
		got := len(t.selected(what))
		ok := got == n || sign == "<=" && got < n || sign == ">=" && got > n
		t.Check(id, ok, fmt.Sprintf("%s %s %d", what, sign, n), "%d", got)
	})
}

// none METHOD…: no message of these methods was sent; none response: no response.
func readNone(rest string) (decider, error) {
	return always(func(t *Trial, id string) {
		var sent []*peer.Message
		for method := range strings.FieldsSeq(rest) {
			sent = append(sent, t.Sent(method)...)
		}
		if rest == "response" {
			sent = t.Responses()
		}
		t.Check(id, len(sent) == 0, "no "+rest, "%s", Contents(sent))
	})
}

// quiet METHOD: no request follows the answer to the first request of a method.
func readQuiet(rest string) (decider, error) {
	return always(func(t *Trial, id string) {
		later := t.RequestsAfter(t.Sent(rest)[0].Answered)
		t.Check(id, len(later) == 0, "no request after the answer to "+rest, "%s", Names(later))
	})
}

// answers ID result, result {}, error, error CODE or once: how the client answered the
// request of the server with that id. "ID,ID" takes the first answer to any of them.
func readAnswers(rest string) (decider, error) {
	words := strings.Fields(rest)
	kind := words[1]
	return always(func(t *Trial, id string) {
		var got []*peer.Message
		for one := range strings.SplitSeq(words[0], ",") {
			got = append(got, t.AnswersTo(one)...)
		}
		ok := len(got) == 1 || strings.Contains(words[0], ",") && len(got) > 0
		switch {
		case !ok || kind == "once":
		case len(words) == 2:
			ok = got[0].Members[kind] != nil
		case kind == "result":
			ok = isEmptyObject(got[0].Members[kind])
		default:
			ok = string(peer.At(got[0].Members[kind], "code")) == words[2]
		}
		t.Check(id, ok, "one answer with id "+words[0]+": "+strings.Join(words[1:], " "), "%s", Contents(t.Responses()))
	})
}

func isEmptyObject(raw json.RawMessage) bool {
	members := peer.Members(raw)
	return members != nil && len(members) == 0
}

// param METHOD PATH JSON: the first message of a method has a value in its params.
func readParam(rest string) (decider, error) {
	words := strings.SplitN(rest, " ", 3)
	path := strings.Split(words[1], ".")
	if path[0] == "*" {
		path = nil
	}
	var want any
	if err := json.Unmarshal([]byte(words[2]), &want); err != nil {
		return nil, err
	}
	return always(func(t *Trial, id string) {
		raw := t.Sent(words[0])[0].Param(path...)
		t.Check(id, matches(raw, want), words[2], "%s", peer.OrNull(raw))
	})
}

// matches reports whether raw has what want has: an object may have more members.
func matches(raw json.RawMessage, want any) bool {
	if object, is := want.(map[string]any); is {
		got := peer.Members(raw)
		for name, value := range object {
			if !matches(got[name], value) {
				return false
			}
		}
		return true
	}
	var got any
	return json.Unmarshal(raw, &got) == nil && reflect.DeepEqual(got, want)
}

// unsent N: the client fails a step without sending its request.
func readUnsent(rest string) (decider, error) {
	i, err := strconv.Atoi(rest)
	if err != nil {
		return nil, err
	}
	return always(func(t *Trial, id string) {
		method := t.task.Steps[i+1].Call
		if sent := t.Sent(method); len(sent) > 0 {
			t.Check(id, false, "no "+method, "%s", Contents(sent))
			return
		}
		t.Reported(id, i, Want{"an error", func(l Line) bool { return l.Outcome == OutcomeError }})
	})
}

// header METHOD NAME: the first request of a method does not have the header.
func readHeader(rest string) (decider, error) {
	method, name, _ := strings.Cut(rest, " ")
	return always(func(t *Trial, id string) {
		got := t.Sent(method)[0].Header.Get(name)
		t.Check(id, got == "", "no "+name, "%s", got)
	})
}
