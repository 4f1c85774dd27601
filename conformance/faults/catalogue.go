package faults

import "slices"

// Carrier is the part of the package that makes a fault.
type Carrier string

// The carriers. A fault with several carriers is made by the one that the client uses.
const (
	// HTTP is [Proxy.Handler]: the fault is in how a request is answered.
	HTTP Carrier = "http"
	// Stream is [Proxy.Stream], and [Main] which is built on it: the fault is in
	// the lines between the client and the server.
	Stream Carrier = "stream"
	// Process is [Main]: the fault needs a process, which is the proxy itself.
	Process Carrier = "process"
	// Conn is [Proxy.Listen]: the fault is in the connection below HTTP.
	Conn Carrier = "conn"
	// Dial is [Proxy.Dial]: the fault is in reaching the server.
	Dial Carrier = "dial"
)

// Fault describes one row of the fault matrix.
type Fault struct {
	// ID is the row, such as "B21". It never changes.
	ID string
	// Title describes the failure in a few words.
	Title string
	// Variants are the forms of the fault; the first is the default. Empty: it has one
	// form.
	Variants []string
	// Carriers are the parts that make it. Empty: this package does not make it.
	Carriers []Carrier
	// Methods are the default of [Selector.Methods]. Empty: any request.
	Methods []string
	// Note describes how it is made and which parameters of [Rule] it reads, or why this
	// package does not make it.
	Note string
}

// Made reports whether carrier makes the fault.
func (f Fault) Made(carrier Carrier) bool { return slices.Contains(f.Carriers, carrier) }

// hasVariant reports whether the fault has a form of that name; the empty name is the
// first form.
func (f Fault) hasVariant(name string) bool { return name == "" || slices.Contains(f.Variants, name) }

// Catalogue returns every fault in the order of the matrix, with those that this package
// does not make. The caller owns the slice.
func Catalogue() []Fault {
	all := slices.Concat(catalogueA(), catalogueB(), catalogueC(), catalogueD(), catalogueE(), catalogueF(), catalogueGH())
	for i := range all {
		all[i].Variants = slices.Clone(all[i].Variants)
	}
	return all
}

// Find returns the fault of that id.
func Find(id string) (Fault, bool) {
	for _, f := range Catalogue() {
		if f.ID == id {
			return f, true
		}
	}
	return Fault{}, false
}

// What the carriers of a row are, written once.
var (
	byHTTP    = []Carrier{HTTP}
	byStream  = []Carrier{Stream}
	byBoth    = []Carrier{HTTP, Stream}
	byProcess = []Carrier{Process}
	byConn    = []Carrier{Conn}
	byDial    = []Carrier{Dial}
)

// What faults are about.
var (
	toolCall  = []string{"tools/call"}
	toolList  = []string{"tools/list"}
	beginning = []string{"initialize", "server/discover"}
	listening = []string{"subscriptions/listen", "GET"}
)

func catalogueA() []Fault {
	return []Fault{
		{ID: "A1", Title: "name does not resolve", Variants: []string{"nxdomain", "servfail", "timeout"}, Carriers: byDial, Note: "the dial fails as the resolver fails; timeout waits For (default 5 s)"},
		{ID: "A2", Title: "connection refused", Carriers: byDial, Note: "the dial fails at once"},
		{ID: "A3", Title: "connection attempt is swallowed", Carriers: []Carrier{Dial, Conn}, Note: "the dial waits for the end of its context; a listener accepts and never reads or answers"},
		{ID: "A4", Title: "one address is dead, another lives", Carriers: byDial, Note: "the first address costs For (default 300 ms), then the dial goes on"},
		{ID: "A5", Title: "certificate not acceptable", Variants: []string{"expired", "unknown-ca", "wrong-host"}, Carriers: byConn, Note: "by the certificates of an Authority, which the listener's TLS uses"},
		{ID: "A6", Title: "TLS handshake fails", Variants: []string{"hang", "alert"}, Carriers: byConn, Note: "the listener reads the hello and stays silent, or answers handshake_failure"},
		{ID: "A7", Title: "a proxy refuses CONNECT", Variants: []string{"407", "502"}, Carriers: byHTTP, Methods: []string{"CONNECT"}, Note: "the handler in the place of the client's HTTP proxy"},
		{ID: "A8", Title: "no descriptors or ports left", Variants: []string{"emfile", "eaddrnotavail"}, Carriers: byDial, Note: "the dial fails with that error"},
		{ID: "A9", Title: "server flaps", Carriers: []Carrier{Dial, Conn}, Note: "down and up in turn, Every (default 1 s), from the beginning of the plan; down: refused, or closed when accepted"},
	}
}

func catalogueB() []Fault {
	return []Fault{
		{ID: "B1", Title: "no answer, not even headers", Carriers: byHTTP, Note: "held until Heal, or For"},
		{ID: "B2", Title: "headers a byte at a time", Carriers: byHTTP, Note: "Every (default 1 s) a byte"},
		{ID: "B3", Title: "body a byte at a time", Carriers: byHTTP, Note: "Every (default 1 s) a byte"},
		{ID: "B4", Title: "reset before headers", Carriers: byHTTP, Note: "TCP reset where the connection is TCP, else closed"},
		{ID: "B5", Title: "connection closed when used again", Carriers: byHTTP, Note: "the request is answered and the connection kept; it closes when the next request arrives on it, which is not read"},
		{ID: "B6", Title: "answer breaks off", Variants: []string{"reset", "chunk", "short"}, Carriers: byHTTP, Note: "half of the body, then reset; inside a chunk; before Content-Length"},
		{ID: "B7", Title: "more than the answer", Variants: []string{"long", "garbage"}, Carriers: byHTTP, Note: "bytes behind Content-Length; text behind the JSON"},
		{ID: "B8", Title: "body too large", Variants: []string{"gzip", "oversized", "endless"}, Carriers: byHTTP, Note: "Size bytes (default 17 MiB) of white space before the answer; endless never ends"},
		{ID: "B9", Title: "a web page instead of an answer", Carriers: byHTTP, Note: "200 text/html"},
		{ID: "B10", Title: "no content", Variants: []string{"200", "204", "202"}, Carriers: byHTTP, Note: "an empty body"},
		{ID: "B11", Title: "redirect that changes the method", Variants: []string{"301", "302", "303"}, Carriers: byHTTP, Note: "Location is Text (default /elsewhere)"},
		{ID: "B12", Title: "redirect that keeps the method", Variants: []string{"same-origin", "cross-origin", "loop", "downgrade"}, Carriers: byHTTP, Note: "307, or Status; cross-origin goes to Text (default https://other.invalid), downgrade to http"},
		{ID: "B13", Title: "400", Variants: []string{"bare", "-32020", "-32021", "-32022"}, Carriers: byHTTP, Note: "bare has no body, the others a JSON-RPC error of that code; not executed"},
		{ID: "B14", Title: "401", Carriers: byHTTP, Note: "WWW-Authenticate is Text (default Bearer error=\"invalid_token\"); how often is the selector's Count"},
		{ID: "B15", Title: "403 insufficient scope", Carriers: byHTTP, Note: "scope is Text (default tools:call)"},
		{ID: "B16", Title: "404 with method not found", Carriers: byHTTP, Note: "with a JSON-RPC error; not executed"},
		{ID: "B17", Title: "session gone", Carriers: byHTTP, Note: "from then on every request of that session has 404 and an error without its id, until another initialize"},
		{ID: "B18", Title: "endpoint gone", Variants: []string{"404", "410"}, Carriers: byHTTP, Note: "no body"},
		{ID: "B19", Title: "wrong kind of request", Variants: []string{"405", "406", "415"}, Carriers: byHTTP, Note: "no body; not executed"},
		{ID: "B20", Title: "other client errors", Variants: []string{"408", "409", "413", "421", "425"}, Carriers: byHTTP, Note: "no body; not executed"},
		{ID: "B21", Title: "429 with Retry-After", Carriers: byHTTP, Note: "For (default 7 s)"},
		{ID: "B22", Title: "429 with a strange Retry-After", Variants: []string{"none", "date", "negative", "huge", "text"}, Carriers: byHTTP, Note: "date is For (default 7 s) from now"},
		{ID: "B23", Title: "500", Variants: []string{"bare", "-32603"}, Carriers: byHTTP, Note: "no body, or a JSON-RPC error; not executed, unless Executed"},
		{ID: "B24", Title: "server not available", Variants: []string{"502", "503", "503-retry-after", "504"}, Carriers: byHTTP, Note: "Retry-After is For (default 120 s)"},
		{ID: "B25", Title: "HTTP/2 stream not taken", Variants: []string{"refused", "goaway"}, Carriers: byConn, Note: "RST_STREAM REFUSED_STREAM, or GOAWAY below the stream; never executed"},
		{ID: "B26", Title: "HTTP/2 stream reset", Variants: []string{"internal", "calm"}, Carriers: byConn, Note: "RST_STREAM INTERNAL_ERROR or ENHANCE_YOUR_CALM"},
		{ID: "B27", Title: "HTTP/2 without room", Variants: []string{"stall", "one-stream"}, Carriers: byConn, Note: "for connections accepted while the rule is active: SETTINGS with a window of 0 and no WINDOW_UPDATE, or with one stream at a time"},
		{ID: "B28", Title: "too many headers", Variants: []string{"large", "many"}, Carriers: byHTTP, Note: "Size bytes (default 1 MiB), or Repeat headers (default 10,000)"},
		{ID: "B29", Title: "answer before the request was read", Carriers: byHTTP, Note: "the answer is an empty result; a request over 4 KiB is left unread, and the connection is closed; never executed"},
		{ID: "B30", Title: "half-closed, then silence", Carriers: byHTTP, Note: "the server's side of the connection ends, its socket stays; needs CloseWrite, else closed"},
	}
}

func catalogueC() []Fault {
	return []Fault{
		{ID: "C1", Title: "stream drops before the first event", Carriers: byHTTP, Note: "the stream opens, then the connection breaks"},
		{ID: "C2", Title: "stream drops behind events with ids", Carriers: byHTTP, Note: "the answer waits for a GET with that Last-Event-ID; For, when set, is the stream's retry time"},
		{ID: "C3", Title: "stream drops behind events without ids", Carriers: byHTTP, Note: "behind one event of progress, the connection breaks"},
		{ID: "C4", Title: "stream ends without the answer", Carriers: byHTTP, Note: "behind one event of progress, the stream ends as it should"},
		{ID: "C5", Title: "flood of comments", Carriers: byHTTP, Note: "Size bytes (default 100 MiB), then the answer"},
		{ID: "C6", Title: "stream opens and stays silent", Carriers: byHTTP, Note: "held until Heal, or For"},
		{ID: "C7", Title: "line or event over the limit", Variants: []string{"line", "event"}, Carriers: byHTTP, Note: "Size bytes (default 17 MiB), then the answer"},
		{ID: "C8", Title: "line ends and chunks in every mix", Variants: []string{"mix", "cr", "lf", "crlf", "bom", "split"}, Carriers: byHTTP, Note: "the right answer; split sends a byte at a time"},
		{ID: "C9", Title: "strange retry time", Variants: []string{"zero", "huge"}, Carriers: byHTTP, Note: "as C2, with retry 0 or 10^12"},
		{ID: "C10", Title: "more than one answer", Variants: []string{"two", "foreign", "after"}, Carriers: byHTTP, Note: "a second answer of another content; a foreign id first; an event behind the answer"},
		{ID: "C11", Title: "listening ends", Variants: []string{"dies", "graceful"}, Carriers: byHTTP, Methods: listening, Note: "after For (default at once) behind the first bytes"},
		{ID: "C12", Title: "progress without end", Carriers: byBoth, Note: "Every (default 1 s), Repeat times (0: until the caller goes); needs a progressToken"},
		{ID: "C13", Title: "invalid UTF-8", Variants: []string{"text", "structure"}, Carriers: byHTTP, Note: "in a text of the result; in the name of a member"},
	}
}

func catalogueD() []Fault {
	return []Fault{
		{ID: "D1", Title: "truncated JSON", Variants: []string{"then-good", "only"}, Carriers: byBoth, Note: "half of the answer; then-good: the answer behind it"},
		{ID: "D2", Title: "unknown id", Variants: []string{"then-good", "only"}, Carriers: byBoth, Note: "the answer under an id that nobody gave; then-good: the answer behind it"},
		{ID: "D3", Title: "id of the wrong type", Variants: []string{"then-good", "only"}, Carriers: byBoth, Note: "the answer under the id as text, or 7 for text; then-good: the answer behind it"},
		{ID: "D4", Title: "answered twice", Carriers: byBoth, Note: "the answer, twice"},
		{ID: "D5", Title: "answers in random order", Carriers: byBoth, Note: "gathers Repeat answers (default 1,000), or what came in For (default 1 s)"},
		{ID: "D6", Title: "answer too late", Variants: []string{"cancel", "delay"}, Carriers: byBoth, Note: "when the caller has cancelled; or For (default 10 min). Over HTTP a cancelled stream takes no answer: it is only held"},
		{ID: "D7", Title: "result and error", Variants: []string{"both", "neither"}, Carriers: byBoth, Note: "an answer with both members, or with none of them"},
		{ID: "D8", Title: "error without id", Variants: []string{"only", "then-good"}, Carriers: byBoth, Note: "a parse error whose id is null; then-good: the answer behind it"},
		{ID: "D9", Title: "batch", Carriers: byBoth, Note: "an array of a notification and the answer"},
		{ID: "D10", Title: "depth bomb", Variants: []string{"id-first", "id-last"}, Carriers: byBoth, Note: "Repeat levels (default 100,000)"},
		{ID: "D11", Title: "JSON that parsers disagree on", Variants: []string{"duplicate", "number", "minus-zero", "surrogate"}, Carriers: byBoth, Note: "two of each member; a number of 401 digits; -0; a surrogate alone"},
		{ID: "D12", Title: "invalid UTF-8 in text", Carriers: byBoth, Note: "in the first text of the result, or in a member that it adds"},
		{ID: "D13", Title: "unknown resultType", Carriers: byBoth, Note: "in the result"},
		{ID: "D14", Title: "unknown message from the server", Variants: []string{"notification", "request"}, Carriers: byBoth, Note: "then the answer"},
		{ID: "D15", Title: "strange error object", Variants: []string{"code-string", "code-float", "no-message", "data"}, Carriers: byBoth, Note: "data has Size bytes (default 10 MiB)"},
		{ID: "D16", Title: "flood of notifications", Carriers: byBoth, Note: "Repeat (default 100,000), then the answer"},
		{ID: "D17", Title: "message over the limit", Variants: []string{"id-first", "id-last"}, Carriers: byBoth, Note: "Size bytes (default 17 MiB)"},
	}
}

func catalogueE() []Fault {
	return []Fault{
		{ID: "E1", Title: "no such program", Note: "no proxy runs then: name a file that is not there, or not executable, as the command"},
		{ID: "E2", Title: "ends at once", Carriers: byProcess, Note: "exit Status (default 1), Text on stderr"},
		{ID: "E3", Title: "foreign text on stdout", Variants: []string{"banner", "ansi", "bom", "blank"}, Carriers: byStream, Note: "before the answer"},
		{ID: "E4", Title: "flood on stderr", Carriers: byProcess, Note: "Size bytes (default 1 GiB) when a request matches"},
		{ID: "E5", Title: "crash in a call", Carriers: []Carrier{Stream, Process}, Note: "both streams end; the program ends by SIGKILL (exit 1 on Windows)"},
		{ID: "E6", Title: "crash in a line", Variants: []string{"answer", "request"}, Carriers: byStream, Note: "after half of the answer; after a part of the request was read, when its method is known before its end (a line of over 64 bytes, to the byte only where writing waits for reading)"},
		{ID: "E7", Title: "stdout ends, process lives", Carriers: byStream, Note: "stdin is still read"},
		{ID: "E8", Title: "stdin is not read any more", Carriers: byStream, Note: "until Heal, or For; the matched request is passed on unless Unsent"},
		{ID: "E9", Title: "stdin is closed, stdout is not", Carriers: byStream, Note: "the matched request is passed on unless Unsent, and its answer comes"},
		{ID: "E10", Title: "stopped", Variants: []string{"freeze", "sigstop"}, Carriers: []Carrier{Stream, Process}, Note: "nothing moves until Heal, or For; sigstop stops the process (not on Windows), SIGCONT wakes it"},
		{ID: "E11", Title: "does not end", Variants: []string{"term", "grandchild"}, Carriers: byProcess, Note: "ignores SIGTERM and the end of stdin; or ends and leaves a process that holds the pipes for For (default 1 min). From its start"},
		{ID: "E12", Title: "killed in a call", Variants: []string{"kill", "segv", "exit0"}, Carriers: byProcess, Note: "by that signal (exit 1 on Windows), or with status 0"},
		{ID: "E13", Title: "poison request", Carriers: byStream, Note: "as E5 before the server has the request, for every instance: give the selector no Count"},
		{ID: "E14", Title: "slow first start", Carriers: byStream, Note: "nothing is read for For (default 60 s) from the start"},
		{ID: "E15", Title: "a byte at a time", Carriers: byStream, Note: "Every between them (default none)"},
		{ID: "E16", Title: "client dies", Note: "the client's own end: kill it and see in the history file of Main that stdin ended"},
	}
}

func catalogueF() []Fault {
	return []Fault{
		{ID: "F1", Title: "version does not match", Variants: []string{"other", "unsupported", "era"}, Carriers: byBoth, Methods: beginning, Note: "another version (Text) in the result; -32022; method not found, as a server of the other era answers"},
		{ID: "F2", Title: "no tools capability", Carriers: byBoth, Methods: append(slices.Clone(beginning), "tools/list", "tools/call"), Note: "taken out of the result; tools methods are not found"},
		{ID: "F3", Title: "cursors without end", Variants: []string{"repeat", "endless"}, Carriers: byBoth, Methods: toolList, Note: "each page is the whole list"},
		{ID: "F4", Title: "empty cursor", Carriers: byBoth, Methods: toolList, Note: "the first page has nextCursor \"\", the second none"},
		{ID: "F5", Title: "cursor expires", Carriers: byBoth, Methods: toolList, Note: "the page behind the first is -32602; give Count 2 for a restart that succeeds"},
		{ID: "F6", Title: "strange lists", Variants: []string{"duplicate", "many", "schema"}, Carriers: byBoth, Methods: toolList, Note: "Repeat tools (default 100,000); a schema of Size bytes (default 10 MiB)"},
		{ID: "F7", Title: "storm of list_changed", Carriers: byBoth, Note: "Repeat (default 10,000), then the answer"},
		{ID: "F8", Title: "list changes while it is read", Carriers: byBoth, Methods: toolList, Note: "list_changed before the answer, which is the old list; over HTTP on the same stream"},
		{ID: "F9", Title: "slow list", Carriers: byBoth, Methods: toolList, Note: "held For (default 1 s), so that reads meet; History tells how many came"},
		{ID: "F10", Title: "tool changes under a call", Variants: []string{"schema", "vanished"}, Carriers: byBoth, Methods: []string{"tools/list", "tools/call"}, Note: "the tool of the selector's Tools (default the first) has a new required argument, or is gone from list and call"},
		{ID: "F11", Title: "output against its schema", Carriers: byBoth, Methods: toolCall, Note: "structuredContent is an array"},
		{ID: "F12", Title: "input wanted forever", Carriers: byBoth, Methods: toolCall, Note: "every round, with a new requestState; never executed"},
		{ID: "F13", Title: "answer to a round is lost", Carriers: byBoth, Methods: toolCall, Note: "the first round wants input; the second, with requestState, is passed on without it and its answer withheld: over HTTP the connection closes"},
		{ID: "F14", Title: "wrong progress", Variants: []string{"decreasing", "foreign", "after"}, Carriers: byBoth, Note: "before the answer, or behind it"},
		{ID: "F15", Title: "cancellation is ignored", Carriers: byStream, Note: "notifications/cancelled is not passed on and the answer comes when it has arrived"},
		{ID: "F16", Title: "strange ttlMs", Variants: []string{"negative", "huge", "string", "absent"}, Carriers: byBoth, Methods: []string{"tools/list", "server/discover"}, Note: "in the result"},
		{ID: "F17", Title: "DB_LOCKED", Variants: []string{"2", "negative", "huge", "nan", "result"}, Carriers: byBoth, Methods: toolCall, Note: "an error with retry_after_seconds, never executed; result: a tool result with that error"},
		{ID: "F18", Title: "readOnlyHint that lies", Carriers: byBoth, Methods: toolList, Note: "every tool says readOnlyHint and idempotentHint"},
		{ID: "F19", Title: "task that never ends", Carriers: byBoth, Methods: []string{"tools/call", "tasks/get", "tasks/cancel"}, Note: "the call is answered by a task, which works forever; pollInterval is Every (default 1 ms); never executed"},
	}
}

// catalogueGH are the rows that no peer can make.
func catalogueGH() []Fault {
	const (
		host  = "of the client's own host: a test makes it there (synctest's clock, a stopped process)"
		load  = "of the caller: a test calls so"
		redis = "of the fleet's Redis: the tests of the fleet stop, slow and fill it"
	)
	return []Fault{
		{ID: "G1", Title: "wall clock jumps", Note: host},
		{ID: "G2", Title: "suspended for hours", Note: host},
		{ID: "G3", Title: "client stopped for seconds", Note: host},
		{ID: "G4", Title: "cancelled at every point", Note: load},
		{ID: "G5", Title: "deadlines shorter than the server", Note: load + "; F9 slows lists, B1 with For calls"},
		{ID: "G6", Title: "panic in a hook", Note: load},
		{ID: "G7", Title: "closed with calls in flight", Note: load + "; B1, C6 and E10 hold the calls"},
		{ID: "G8", Title: "callback or log blocks", Note: load},
		{ID: "G9", Title: "open breaker is hammered", Note: load},
		{ID: "G10", Title: "10,000 names of tools", Note: "F6 many makes the list; the calls are the caller's"},
		{ID: "H1", Title: "Redis refuses, is slow, or swallows", Note: redis},
		{ID: "H2", Title: "Redis is flushed or holds garbage", Note: redis},
		{ID: "H3", Title: "one node tells wrong things", Note: redis},
		{ID: "H4", Title: "all nodes fail and heal at once", Note: "any fault before all of them: they share one Proxy"},
		{ID: "H5", Title: "clocks of nodes differ", Note: redis},
		{ID: "H6", Title: "messages between nodes are lost", Note: redis},
		{ID: "H7", Title: "shared cache entry is poisoned", Note: redis},
	}
}
