package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/interop/hosts/orders"
)

// driver is a host that runs.
type driver struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers chan []byte
	left    chan struct{} // closed when nobody reads answers any more
	leave   func()
	hangs   bool // an answer is missing: later ones would be taken for it
}

func start(argv []string, mark, log string) (*driver, error) {
	d := &driver{cmd: exec.Command(argv[0], argv[1:]...), answers: make(chan []byte), left: make(chan struct{})} //nolint:noctx // close and kill end it
	d.leave = sync.OnceFunc(func() { close(d.left) })
	d.cmd.Env = append(os.Environ(), markName+"="+mark)
	stderr, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer stderr.Close() //nolint:errcheck // the program has its own handle
	d.cmd.Stderr = stderr
	if d.stdin, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(d.answers)
		lines := bufio.NewReader(stdout)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			select {
			case d.answers <- line:
			case <-d.left:
				return
			}
		}
	}()
	return d, nil
}

func (d *driver) order(ctx context.Context, o orders.Order) (a orders.Answer, err error) {
	if d.hangs {
		return a, fmt.Errorf("the host hangs in an earlier step")
	}
	line, err := json.Marshal(o)
	if err != nil {
		return a, err
	}
	if _, err := d.stdin.Write(append(line, '\n')); err != nil {
		return a, fmt.Errorf("the host has ended: %w", err)
	}
	select {
	case line, open := <-d.answers:
		if !open {
			return a, fmt.Errorf("the host ended in %s", o.Do)
		}
		return a, json.Unmarshal(line, &a)
	case <-ctx.Done():
		d.hangs = true
		return a, fmt.Errorf("%s %s: no answer within %v", o.Do, o.Name, patience)
	}
}

// close lets the host end with its stdin.
func (d *driver) close() {
	d.leave()
	_ = d.stdin.Close()
	go d.cmd.Wait() //nolint:errcheck // gone looks for it
}

// kill ends the host as a crash would.
func (d *driver) kill() {
	d.leave()
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	_ = d.stdin.Close()
}

// markName is the variable that marks a process and all it starts.
const markName = "MAINSTAY_HOSTS_MARK"

func newMark() string { return rand.Text() }

type process struct {
	pid, parent int
	name        string
}

// marked returns the processes with this mark, zombies excepted.
func marked(mark string) (found []process) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is right
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte(mark)) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		if err != nil {
			continue
		}
		head, tail, _ := strings.Cut(string(stat), ") ") // pid (name) state parent …
		id, name, _ := strings.Cut(head, " (")
		fields := strings.Fields(tail)
		if len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		pid, _ := strconv.Atoi(id)
		parent, _ := strconv.Atoi(fields[1])
		found = append(found, process{pid, parent, name})
	}
	return found
}

// gone returns an error that names what lives on.
func gone(mark string) error {
	var names []string
	for _, p := range marked(mark) {
		names = append(names, p.name)
	}
	if len(names) > 0 {
		return fmt.Errorf("still there: %s", strings.Join(names, ", "))
	}
	return nil
}
