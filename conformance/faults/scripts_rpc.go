package faults

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Default sizes of the matrix.
const (
	overLimit = 17 << 20 // of any limit of 16 MiB
	deep      = 100_000
)

// unknownID is an id that no client uses.
var unknownID = json.RawMessage(`"faults-unknown-id"`)

// scriptsRPC are the faults of JSON-RPC (part D) and those of other parts that
// are made the same way.
func scriptsRPC() map[string]script {
	return map[string]script{
		"D1": {tell: func(x *exchange) iter.Seq[piece] { return x.thenGood(bad(x.answer[:len(x.answer)/2])) }},
		"D2": {tell: func(x *exchange) iter.Seq[piece] { return x.thenGood(bad(with(x.answer, "id", string(unknownID)))) }},
		"D3": {tell: func(x *exchange) iter.Seq[piece] { return x.thenGood(bad(with(x.answer, "id", otherType(x.req.ID)))) }},
		"D4": {tell: func(x *exchange) iter.Seq[piece] { return tells(good(x), bad(x.answer)) }},
		"D5": {tell: shuffled},
		"D6": {tell: late},
		"D7": {tell: func(x *exchange) iter.Seq[piece] {
			if x.form == "neither" {
				return tells(badText(`{"jsonrpc":"2.0","id":` + string(x.req.ID) + `}`))
			}
			return tells(badText(`{"jsonrpc":"2.0","id":` + string(x.req.ID) + `,"result":{},"error":{"code":-32603,"message":"both"}}`))
		}},
		"D8": {tell: func(x *exchange) iter.Seq[piece] {
			return x.thenGood(bad(failure(nil, -32700, "parse error", "")))
		}},
		"D9": {tell: func(x *exchange) iter.Seq[piece] {
			first := notification("notifications/message", `{"level":"info","data":"first of a batch"}`)
			return tells(piece{right: true, data: slices.Concat([]byte("["), first, []byte(","), x.answer, []byte("]"))})
		}},
		"D10": {tell: func(x *exchange) iter.Seq[piece] {
			n := orInt(x.Repeat, deep)
			bomb := strings.Repeat("[", n) + strings.Repeat("]", n)
			if x.form == "id-last" {
				return tells(badText(`{"jsonrpc":"2.0","result":` + bomb + `,"id":` + string(x.req.ID) + `}`))
			}
			return tells(bad(response(x.req.ID, bomb)))
		}},
		"D11": {tell: func(x *exchange) iter.Seq[piece] { return tells(bad(disputed(x))) }},
		"D12": {tell: func(x *exchange) iter.Seq[piece] { return tells(bad(brokenText(x.answer))) }},
		"D13": {tell: func(x *exchange) iter.Seq[piece] {
			return tells(bad(withResult(x.answer, func(r json.RawMessage) json.RawMessage { return with(r, "resultType", `"faults/unknown"`) })))
		}},
		"D14": {tell: func(x *exchange) iter.Seq[piece] {
			first := notification("notifications/faults/unknown", `{}`)
			if x.form == "request" {
				first = []byte(`{"jsonrpc":"2.0","id":"faults-request","method":"faults/unknown","params":{}}`)
			}
			return tells(bad(first), good(x))
		}},
		"D15": {tell: func(x *exchange) iter.Seq[piece] { return tells(bad(strangeError(x))) }},
		"D16": {tell: func(x *exchange) iter.Seq[piece] {
			return x.repeated(orInt(x.Repeat, 100_000), time.Duration(x.Every), func(i int) []byte {
				return notification("notifications/message", `{"level":"debug","data":`+strconv.Itoa(i)+`}`)
			})
		}},
		"D17": {tell: func(x *exchange) iter.Seq[piece] {
			large := `{"padding":"` + strings.Repeat("x", orInt(x.Size, overLimit)) + `"}`
			if x.form == "id-last" {
				return tells(badText(`{"jsonrpc":"2.0","result":` + large + `,"id":` + string(x.req.ID) + `}`))
			}
			return tells(bad(response(x.req.ID, large)))
		}},
		"C12": {tell: func(x *exchange) iter.Seq[piece] {
			return x.repeated(x.Repeat, x.Every.or(time.Second), func(i int) []byte { return progress(x.req.token, strconv.Itoa(i+1)) })
		}},
		"C13": {tell: func(x *exchange) iter.Seq[piece] {
			if x.form == "structure" {
				return tells(bad(bytes.Replace(x.answer, []byte(`"result"`), []byte("\"res\xffult\""), 1)))
			}
			return tells(bad(brokenText(x.answer)))
		}},
	}
}

// otherType returns the id as another type: "7" for 7, a number for text.
func otherType(id json.RawMessage) string {
	if len(id) > 0 && id[0] != '"' {
		return `"` + string(id) + `"`
	}
	return "7"
}

// progress returns a progress notification; a missing token is null, which is wrong, too.
func progress(token json.RawMessage, done string) []byte {
	return notification("notifications/progress", `{"progressToken":`+string(orNull(token))+`,"progress":`+done+`}`)
}

// shuffled holds answers until there are enough and sends them in random order.
func shuffled(x *exchange) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		turn, done := x.proxy.join(x, orInt(x.Repeat, 1000))
		defer done()
		if turn() {
			yield(piece{right: true, last: true, data: x.answer})
		}
	}
}

// late answers after the caller has left.
func late(x *exchange) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		if x.form == "delay" {
			if x.hold(x.ctx, x.For.or(10*time.Minute)) {
				yield(good(x))
			}
			return
		}
		select {
		case <-x.ended:
		case <-x.period.over:
		case <-x.ctx.Done():
			return
		}
		yield(good(x))
	}
}

// disputed is JSON that parsers read differently.
func disputed(x *exchange) []byte {
	id := string(x.req.ID)
	switch x.form {
	case "number":
		return response(x.req.ID, `{"content":[],"number":1`+strings.Repeat("0", 400)+`}`)
	case "minus-zero":
		return response(x.req.ID, `{"content":[],"number":-0}`)
	case "surrogate":
		return response(x.req.ID, `{"content":[{"type":"text","text":"\ud800 alone"}]}`)
	default:
		return []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]},"id":` + id + `,"result":{"content":[{"type":"text","text":"second"}]}}`)
	}
}

// brokenText puts invalid UTF-8 into the first text of the result, or into a new one.
func brokenText(answer []byte) []byte {
	const member = `"text":"`
	if i := bytes.Index(answer, []byte(member)); i >= 0 {
		return slices.Concat(answer[:i+len(member)], []byte("\xff\xc3("), answer[i+len(member):])
	}
	marked := withResult(answer, func(r json.RawMessage) json.RawMessage { return with(r, "faults", `"#"`) })
	return bytes.Replace(marked, []byte(`"#"`), []byte("\"\xff\xc3(\""), 1)
}

func strangeError(x *exchange) []byte {
	head := `{"jsonrpc":"2.0","id":` + string(x.req.ID) + `,"error":`
	switch x.form {
	case "code-float":
		return []byte(head + `{"code":-32603.5,"message":"a float"}}`)
	case "no-message":
		return []byte(head + `{"code":-32603}}`)
	case "data":
		return failure(x.req.ID, -32603, "much data", `"`+strings.Repeat("x", orInt(x.Size, 10<<20))+`"`)
	default:
		return []byte(head + `{"code":"-32603","message":"a string"}}`)
	}
}
