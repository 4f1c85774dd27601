package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/server/scratch"
)

// maxLine bounds a line of a program: an artifact of 5 MiB, escaped twice. A
// longer one is skipped.
const maxLine = 32 << 20

// folderPrefix begins the names of the folders of runs.
const folderPrefix = "mainstay-agent-"

// Program is an agent that is a program on this machine. Every run starts a
// process with the same arguments; what differs between two requests, the
// token among it, goes in by standard input (pitfall 1).
type Program struct {
	// Path is the program, Model the model that it uses; empty is the
	// program's own choice.
	Path, Model string
	// Config returns the mcp-config, as text.
	Config func() string
	// Env is the environment; nil is that of this process.
	Env []string
	// TempDir is where the empty working directory of a run is made; empty is
	// the system's folder for temporary files.
	TempDir string
}

// Argv returns the command, as a list that no shell ever sees. --tools with
// nothing after it takes the program's own tools away, or it would write
// files to disk instead of saving artifacts (pitfall 2).
func (p *Program) Argv() []string {
	argv := []string{p.Path, "-p", "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose"}
	if p.Model != "" {
		argv = append(argv, "--model", p.Model)
	}
	return append(argv, "--mcp-config", p.Config(), "--tools", "")
}

// Run implements [Runner].
func (p *Program) Run(ctx context.Context, t Task, event func(json.RawMessage)) error {
	scratch.Sweep(p.TempDir, folderPrefix) // those of servers that were killed
	folder, err := scratch.Make(p.TempDir, folderPrefix)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // it is looked at again by the next run
	dir := filepath.Join(folder.Path(), "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	argv := p.Argv()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, p.Env, 5*time.Second
	cmd.Stdin = strings.NewReader(prompt(t))
	stderr := &tail{}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	// Who ends the process also ends its output; a grandchild may hold it open.
	defer context.AfterFunc(ctx, func() { _ = out.Close() })()
	scanErr := lines(out, maxLine, event)
	switch err := cmd.Wait(); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("agent: %w: %s", err, stderr.String())
	}
	return scanErr
}

func prompt(t Task) string {
	if t.System == "" {
		return t.Content
	}
	return t.System + "\n\n" + t.Content
}

// lines calls event for every line of at most most bytes that is a JSON object.
func lines(r io.Reader, most int, event func(json.RawMessage)) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	skip := false
	for {
		part, err := br.ReadSlice('\n')
		if skip = skip || len(line)+len(part) > most; !skip {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if text := bytes.TrimSpace(line); !skip && len(text) > 0 && text[0] == '{' && json.Valid(text) {
			event(bytes.Clone(text))
		}
		line, skip = line[:0], false
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tail keeps the last of what is written to it.
type tail struct{ buf []byte }

const tailSize = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(strings.TrimSpace(string(t.buf)), "") }
