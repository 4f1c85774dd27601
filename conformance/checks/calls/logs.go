package calls

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// runLogs calls each tool at the lowest log level and then at the highest one.
func runLogs(t *engine.Trial) {
	all := swift(t, tools(t))
	if len(all) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "only tools that are slow")
		return
	}
	s := t.Fresh()
	if !t.Rev.Stateless() {
		listenOnGet(t, s) // log messages may come there
	}
	v := verdicts{}
	over := budget(t)
	declared := t.Rev.Capabilities.Has("logging")
	loud, day := map[string]bool{}, 0
	for _, level := range []string{"debug", "emergency"} {
		if declared && !t.Rev.Stateless() {
			t.Step(s)
			if a, err := s.Request(t.Ctx, mcp.MethodLoggingSetLevel, map[string]any{"level": level}); err != nil || a.Err != nil {
				t.SkipRest(conformance.SkipNoFixture, "logging/setLevel: "+a.OrError(err)) // another check judges it
				return
			}
			_, err := s.Settle(t.Ctx) // what was on its way has come
			t.NoError(err)
			if s.Conn.Transport() == conformance.TransportHTTP { // also on another stream
				t.NoError(s.ReadFor(t.Ctx, wire.Lag))
			}
		}
		calls := first(inRounds(t, all), len(all))
		if level == "emergency" { // what worked may work only once
			again := slices.DeleteFunc(slices.Clone(all), func(tool wire.Tool) bool { return !loud[tool.Name] })
			calls = append(calls, first(inRounds(t, again), mostAgain*len(again))...)
		}
		for i, c := range calls {
			if over() {
				break
			}
			day++
			c.args.JSON = onAnotherDay(c.args.JSON, day)
			if declared && t.Rev.Stateless() {
				c.level = level
			}
			had := len(s.Notifications(mcp.MethodMessage))
			_, err := ask(t, s, c, nil)
			if err == nil && (i == len(calls)-1 || s.Conn.Transport() == conformance.TransportHTTP) {
				_, err = s.Settle(t.Ctx) // over HTTP a message may come on another stream, after the answer
			}
			if wire.IsLost(err) {
				v.decide(t, c.tool.Name+" does not answer") // another check judges it
				return
			}
			if level == "debug" && len(s.Notifications(mcp.MethodMessage)) > had {
				t.Rev.NoteLogs(c.tool.Name, c.args)
				loud[c.tool.Name] = true
			}
			v.logged(t, c, level, declared, s.Notifications(mcp.MethodMessage)[had:])
		}
	}
	v.decide(t, "no tool sent log messages")
}

// onAnotherDay moves the dates of arguments on: what is taken on one day may be free on another.
func onAnotherDay(arguments json.RawMessage, days int) json.RawMessage {
	return dates.ReplaceAllFunc(arguments, func(quoted []byte) []byte {
		date, err := time.Parse(time.DateOnly, string(quoted[1:1+len(time.DateOnly)]))
		if err != nil {
			return quoted
		}
		return append(date.AddDate(0, 0, days).AppendFormat([]byte{'"'}, time.DateOnly), quoted[1+len(time.DateOnly):]...)
	})
}

// dates are texts that begin with one.
var dates = lazyregexp.New(`"\d{4}-\d\d-\d\d["T]`)

// mostAgain is how often a tool that sent log messages is called again, with other arguments.
const mostAgain = 6

// logged judges the log messages that came during a call.
func (v verdicts) logged(t *engine.Trial, c call, level string, declared bool, came []wire.Inbound) {
	for _, in := range came {
		v.see(t, "CALL-05/declared", declared, "capabilities.logging", "%s: log messages of a server that does not declare them", c)
		got := rawjson.Text(wire.Param(in, "level"))
		v.see(t, "CALL-05/shape", slices.Contains(levels, got) && len(wire.Param(in, "data")) > 0, "a level of the eight, and data",
			"%s: level %s, data %s", c, rawjson.OrAbsent(wire.Param(in, "level")), rawjson.OrAbsent(wire.Param(in, "data")))
		if declared && level == "emergency" && slices.Contains(levels, got) { // an unknown level is neither below nor above
			v.see(t, "CALL-05/threshold", got == "emergency", "no message below emergency, which was set", "%s: a message of level %s", c, got)
		}
	}
	if one := v["CALL-05/shape"]; declared && level == "emergency" && len(came) == 0 && one != nil {
		v.see(t, "CALL-05/threshold", true, "", "")
	}
}

// levels are those there are.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
