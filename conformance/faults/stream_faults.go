package faults

import (
	"iter"
	"time"
)

// process has the functions of a proxy that is a program. The zero value is no program.
type process struct {
	crash      func(form string) // ends the process; it does not return
	stop       func() error      // stops it, until something wakes it
	stderr     func(size int)    // floods stderr
	stdinEnded func()            // the client has ended, or closed its side
	drained    func()            // the server's stdout has ended
	gone       <-chan struct{}   // closed when the server has ended
}

// scriptsStream are the faults of a stream that are in an answer (part E).
func scriptsStream() map[string]script {
	ends := script{tell: func(*exchange) iter.Seq[piece] { return tells(piece{kind: cut}) }}
	return map[string]script{
		"E3": {tell: func(x *exchange) iter.Seq[piece] {
			switch x.form {
			case "ansi":
				return tells(badText("\x1b[32mready\x1b[0m"), good(x))
			case "bom":
				return tells(piece{right: true, data: append([]byte("\ufeff"), x.answer...)})
			case "blank":
				return tells(badText(""), badText("  \t"), badText("\r"), good(x))
			default:
				return tells(badText("Server listening on stdio"), good(x))
			}
		}},
		"E5":  ends,
		"E12": ends,
		"E13": {local: func(x *exchange) []byte { return nothing(x.req) }, tell: ends.tell},
		"E6": {tell: func(x *exchange) iter.Seq[piece] {
			return tells(piece{kind: part, data: x.answer[:len(x.answer)/2]}, piece{kind: cut})
		}},
		"E15": {tell: func(x *exchange) iter.Seq[piece] { return tells(piece{right: true, slow: true, data: x.answer}) }},
	}
}

// harm makes the faults of the stream itself, after it has forwarded the request unless the
// rule has Unsent. It reports whether to continue.
func (s *stream) harm(h *hit, line []byte, call *Call) bool {
	if h.Fault == "E4" && s.process.stderr != nil {
		s.process.stderr(orInt(h.Size, 1<<30))
	}
	switch h.Fault { // before the server can answer
	case "E7":
		_ = s.client.To.Close()
	case "E10":
		defer s.down.shut()()
	default:
	}
	if !h.Unsent && !s.pass(line, call) {
		return false
	}
	switch h.Fault {
	case "E8":
		return h.hold(s.ctx, time.Duration(h.For)) && (!h.Unsent || s.pass(line, call))
	case "E9":
		_ = s.client.From.Close()
		// The server's stdin stays open: only the proxy's read end is closed.
		<-s.ctx.Done()
		return false
	case "E10":
		if h.form == "sigstop" && s.process.stop != nil {
			_ = s.process.stop() // cannot fail for oneself
		} else if !h.hold(s.ctx, time.Duration(h.For)) {
			return false
		}
		return !h.Unsent || s.pass(line, call)
	default:
	}
	return true
}
