// Package worker runs converters in a child process, which is the only sure
// answer to documents that make a parser panic, loop or eat memory (tools.md
// §9.1). The server's program starts itself again with the argument
// [Argument]; that process reads documents on its standard input and writes
// results on its standard output, and is killed when it takes too long.
package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"
)

// Argument is the hidden argument that makes the program a worker.
const Argument = "convert-worker"

// marker is set in the environment of a worker, so that it never starts one of
// its own: a program that does not know Argument would run as a whole again.
const marker = "MAINSTAY_CONVERT_WORKER"

// A Request is one document to convert.
type Request struct {
	// Format chooses the converter: pdf, docx, xlsx, pptx or html.
	Format string `json:"format"`
	// Filename is the document's own name, without a folder.
	Filename string `json:"filename"`
	// ContentType and URI are known of a document fetched over HTTP.
	ContentType string `json:"content_type,omitempty"`
	URI         string `json:"uri,omitempty"`
	// Options are those of the tool, undecoded.
	Options json.RawMessage `json:"options,omitempty"`
	// Output is how large the result may be, in bytes; the pool fills it in.
	Output int64 `json:"output"`
	// Document is the bytes of the document.
	Document []byte `json:"-"`
}

// The reasons of a [Failure] (tools.md §4.7).
const (
	Encrypted   = "encrypted"
	Corrupt     = "corrupt"
	TooLarge    = "too_large"
	Unsupported = "unsupported"
	Empty       = "empty"
)

// A Failure says why a document could not be converted. Its text is for the
// client; Err is for the log.
type Failure struct {
	Stage   string `json:"stage"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Err     error  `json:"-"`
}

func (f *Failure) Error() string { return fmt.Sprintf("%s (%s): %s", f.Stage, f.Reason, f.Message) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Fail returns the failure of a conversion for a reason.
func Fail(reason, format string, args ...any) *Failure {
	return &Failure{Stage: "convert", Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// A Convert turns a document into JSON. A failure that is not a [*Failure]
// counts as a corrupt document, and so does a panic.
type Convert func(*Request) (json.RawMessage, error)

// most is how large a document a worker takes.
const most = 256 << 20

// The exit codes of a worker.
const (
	exitDone  = 0
	exitFault = 1
	exitLate  = 3
)

// Main is the program of a worker: it converts one document after the other
// until its input ends, and returns the code to exit with. It returns even
// while a converter loops, since the input ends when the server does.
func Main(in io.Reader, out io.Writer, convert Convert) int {
	if _, err := io.WriteString(out, greeting); err != nil {
		return exitFault
	}
	stop := make(chan struct{})
	defer close(stop)
	requests := receive(in, stop)
	for first := true; ; first = false {
		req, more := <-requests
		if !more {
			return exitDone
		}
		if first {
			if err := confine(req.head.Memory); err != nil {
				fmt.Fprintln(os.Stderr, "no memory limit:", err)
				return exitFault
			}
		}
		if code, ended := serve(req, requests, out, convert); ended {
			return code
		}
	}
}

// received is a request as it arrived, or why none did.
type received struct {
	head header
	err  error
}

// receive reads ahead, so that the end of the input is seen during a conversion.
func receive(in io.Reader, stop <-chan struct{}) <-chan received {
	requests := make(chan received)
	go func() {
		defer close(requests)
		for {
			var r received
			r.head.Document, r.err = readFrame(in, &r.head, most)
			if errors.Is(r.err, io.EOF) {
				return
			}
			select {
			case requests <- r:
			case <-stop:
				return
			}
			if r.err != nil {
				return
			}
		}
	}()
	return requests
}

// serve answers one request; ended says that the worker is at its end.
func serve(r received, requests <-chan received, out io.Writer, convert Convert) (code int, ended bool) {
	if r.err != nil {
		return exitFault, true
	}
	type result struct {
		doc     json.RawMessage
		failure *Failure
	}
	done := make(chan result, 1)
	go func() {
		doc, failure := run(&r.head.Request, convert)
		done <- result{doc, failure}
	}()
	late := time.NewTimer(time.Duration(r.head.Timeout) * time.Millisecond)
	defer late.Stop()
	select {
	case res := <-done:
		if res.failure == nil && int64(len(res.doc)) > r.head.Output {
			res.doc, res.failure = nil, Fail(TooLarge, "the result of %d bytes is over the limit of %d", len(res.doc), r.head.Output)
		}
		if err := writeFrame(out, answer{res.failure}, res.doc); err != nil {
			return exitFault, true
		}
		return exitDone, false
	case <-requests: // the server is gone, or speaks out of turn
		return exitFault, true
	case <-late.C:
		return exitLate, true
	}
}

// run converts, and makes of a panic what it most often is.
func run(req *Request, convert Convert) (doc json.RawMessage, failure *Failure) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", p, debug.Stack())
			doc, failure = nil, Fail(Corrupt, "the document is malformed")
		}
	}()
	doc, err := convert(req)
	if err == nil {
		return doc, nil
	}
	if errors.As(err, &failure) {
		return nil, failure
	}
	return nil, Fail(Corrupt, "%s", err.Error())
}
