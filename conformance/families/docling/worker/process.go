package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

// ErrUnavailable says that no worker could be had: the machine cannot start
// the program again, or the program is not a worker.
var ErrUnavailable = errors.New("no converter process")

// grace is how much longer than its server a forgotten worker lives, and how
// long the pipes of a killed one are waited for.
const grace = 500 * time.Millisecond

// Limits bound one worker.
type Limits struct {
	// Memory is in bytes; zero is 1 GiB.
	Memory int64
	// Output is how large a result may be, in bytes; zero is 64 MiB.
	Output int64
	// Start is how long a worker may take to say that it is one; zero is 20 s.
	Start time.Duration
}

func (l Limits) filled() Limits {
	if l.Memory <= 0 {
		l.Memory = 1 << 30
	}
	if l.Output <= 0 {
		l.Output = 64 << 20
	}
	if l.Start <= 0 {
		l.Start = 20 * time.Second
	}
	return l
}

// A Process is a running worker. It converts one document at a time and does
// not survive a document that it could not answer for.
type Process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	pipe   io.Closer
	said   *tail
	limits Limits
	once   sync.Once
	dead   bool
}

// Command returns how this program is started as a worker.
func Command() ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	return []string{exe, Argument}, nil
}

// Start starts argv as a worker. ctx bounds the start alone.
func Start(ctx context.Context, argv []string, limits Limits) (*Process, error) {
	if os.Getenv(marker) != "" {
		return nil, fmt.Errorf("%w: a worker starts no worker", ErrUnavailable)
	}
	p := &Process{said: &tail{most: 8 << 10}, limits: limits.filled()}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	p.cmd.Env = []string{marker + "=1", "GOTRACEBACK=single"} // nothing of the server's: it holds keys
	p.cmd.Stderr = p.said
	p.cmd.WaitDelay = grace
	ownGroup(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	p.in, p.pipe, p.out = in, out, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	greeted, cancel := context.WithTimeout(ctx, p.limits.Start)
	defer cancel()
	stop := context.AfterFunc(greeted, func() { killGroup(p.cmd) })
	defer stop()
	said := make([]byte, len(greeting))
	if _, err := io.ReadFull(p.out, said); err != nil || string(said) != greeting {
		p.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %s does not know the argument %s", ErrUnavailable, argv[0], Argument)
	}
	return p, nil
}

// Convert has the worker convert a document. The error is a [*Failure], or the
// context's own. When ctx ends the worker is killed at once.
func (p *Process) Convert(ctx context.Context, req *Request) (json.RawMessage, error) {
	stop := context.AfterFunc(ctx, func() { killGroup(p.cmd) })
	defer stop()
	head := header{Request: *req, Memory: p.limits.Memory, Timeout: (10 * time.Minute).Milliseconds()}
	head.Output = p.limits.Output
	if deadline, ok := ctx.Deadline(); ok {
		head.Timeout = (time.Until(deadline) + grace).Milliseconds()
	}
	werr := writeFrame(p.in, head, req.Document)
	var a answer
	doc, err := readFrame(p.out, &a, p.limits.Output)
	if err == nil && werr == nil {
		if a.Failure != nil {
			return nil, a.Failure
		}
		return doc, nil
	}
	p.Close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	failure := Fail(Corrupt, "the document ended its converter")
	failure.Err = errors.New(p.said.first())
	if outOfMemory.MatchString(failure.Err.Error()) {
		failure.Reason, failure.Message = TooLarge, "the document takes more memory than a conversion may have"
	}
	return nil, failure
}

// outOfMemory matches what the runtime says at its end when the system gives it
// no more memory, be it for its heap or for the stack of another thread.
var outOfMemory = regexp.MustCompile(`^(?:fatal error|runtime(?:/cgo)?): .*(?:out of memory|allocate|pthread_create failed|create new OS thread)`)

// Dead says that the worker ended; another must be started in its place.
func (p *Process) Dead() bool { return p.dead }

// Close ends the worker and waits until it is gone.
func (p *Process) Close() {
	p.once.Do(func() {
		p.dead = true
		_ = p.in.Close() // the worker is about to be killed
		killGroup(p.cmd)
		_ = p.pipe.Close()
		_ = p.cmd.Wait() // how it ended is known from what it said
	})
}

// A tail keeps the beginning of what a worker said on standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
	most int
}

// Write takes everything and keeps what fits.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := t.most - len(t.text); room > 0 {
		t.text = append(t.text, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// first is the line that says why the worker ended.
func (t *tail) first() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(t.text)), "\n")
	if line == "" {
		return "the converter said nothing"
	}
	return line
}
