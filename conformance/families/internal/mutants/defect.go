package mutants

import (
	"context"
	"io"
	"net/http"
)

// Serve is a server as a function that speaks newline-delimited JSON-RPC on in
// and out until in ends or ctx is done.
type Serve func(ctx context.Context, in io.Reader, out io.Writer) error

// defect is what one mutant does to the traffic. Every member is optional. All
// but serve and program are called one at a time.
type defect struct {
	// request sees a message of the client before the server does, and may
	// change it. What it returns is the answer, and the server sees nothing.
	request func(x *exchange) []object
	// answer returns what is sent in place of a response.
	answer func(x *exchange, r object) []object
	// note returns what is sent in place of a notification or request of the
	// server; over HTTP x is the exchange it travels with.
	note func(x *exchange, n object) []object
	// head returns the status of an HTTP answer and may change its headers.
	head func(x *exchange, status int, h http.Header) int
	// event may change an event of a stream.
	event func(x *exchange, e *event)
	// serve stands before everything else over HTTP.
	serve func(next http.Handler) http.Handler
	// line returns what is written in place of a line over stdio.
	line func(line []byte) [][]byte
	// program stands before everything else over stdio.
	program func(next Serve) Serve
}

// results changes the results of one method.
func results(method string, change func(x *exchange, result object)) func() *defect {
	return func() *defect {
		return &defect{answer: func(x *exchange, r object) []object {
			if result, ok := r["result"].(object); ok && x.method == method {
				change(x, result)
			}
			return []object{r}
		}}
	}
}

// calls changes the results of one tool; "" is any.
func calls(tool string, change func(x *exchange, result object)) func() *defect {
	return results("tools/call", func(x *exchange, result object) {
		if tool == "" || x.tool == tool {
			change(x, result)
		}
	})
}

// entries changes the members of a list that a method returns, each in turn.
func entries(method, name string, change func(i int, entry object)) func() *defect {
	return results(method, func(_ *exchange, result object) {
		for i, entry := range list(result, name) {
			change(i, entry)
		}
	})
}

// blocks changes the content blocks of a type in the results of tools.
func blocks(kind string, change func(block object)) func() *defect {
	return calls("", func(_ *exchange, result object) {
		for _, block := range list(result, "content") {
			if block["type"] == kind {
				change(block)
			}
		}
	})
}

// failures changes the errors with a code; "" is any.
func failures(code string, change func(x *exchange, r, e object)) func() *defect {
	return func() *defect {
		return &defect{answer: func(x *exchange, r object) []object {
			if got, ok := isError(r); ok && (code == "" || code == got) {
				change(x, r, at(r, "error"))
			}
			return []object{r}
		}}
	}
}

// excused answers with a result what the server refuses.
func excused(refused func(x *exchange, e object) bool, result func(x *exchange) object) func() *defect {
	return func() *defect {
		return &defect{answer: func(x *exchange, r object) []object {
			if _, ok := isError(r); ok && x.isRequest() && refused(x, at(r, "error")) {
				return x.result(x.complete(result(x)))
			}
			return []object{r}
		}}
	}
}

// requests changes the requests for one method before the server sees them.
func requests(method string, change func(x *exchange)) func() *defect {
	return func() *defect {
		return &defect{request: func(x *exchange) []object {
			if x.method == method {
				change(x)
			}
			return nil
		}}
	}
}

// notes changes the notifications of a method; nil drops one.
func notes(method string, change func(x *exchange, n object) []object) func() *defect {
	return func() *defect {
		return &defect{note: func(x *exchange, n object) []object {
			if n["method"] == method {
				return change(x, n)
			}
			return []object{n}
		}}
	}
}

// heads changes the head of HTTP answers.
func heads(change func(x *exchange, status int, h http.Header) int) func() *defect {
	return func() *defect { return &defect{head: change} }
}

// before stands before the server over HTTP.
func before(handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) func() *defect {
	return func() *defect {
		return &defect{serve: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, next) })
		}}
	}
}
