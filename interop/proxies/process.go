package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// command is a program with what it gets besides the environment of the driver.
type command struct {
	argv []string
	env  []string
	log  string // file for its stderr, and its stdout unless that is a pipe
}

// process is a running program. It leads a process group of its own.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// endTime is how long a program may take to end before it is killed.
const endTime = 4 * time.Second

func (c *command) prepare(ctx context.Context) (*exec.Cmd, *os.File, error) {
	log, err := os.OpenFile(c.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.argv[0], c.argv[1:]...) //nolint:gosec // the driver chooses it
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, log, nil
}

func (c command) start(ctx context.Context) (*process, error) {
	cmd, log, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout = log
	return launch(cmd)
}

func (c command) startPiped(ctx context.Context) (*process, io.WriteCloser, io.Reader, error) {
	cmd, log, err := c.prepare(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = log.Close() }()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	read, write, err := os.Pipe() // Wait would close a StdoutPipe before all of it is read
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = write.Close() }()
	cmd.Stdout = write
	p, err := launch(cmd)
	if err != nil {
		return nil, nil, nil, errors.Join(err, read.Close())
	}
	return p, stdin, read, nil
}

func launch(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// end waits for the program, and kills its group after d.
func (p *process) end(d time.Duration) {
	select {
	case <-p.ended:
	case <-time.After(d):
	}
	_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
	<-p.ended
}

// stop asks the program to end, and kills it if it does not.
func (p *process) stop() {
	p.signal(syscall.SIGTERM)
	p.end(endTime)
}

// status reads a field of /proc/PID/status, "" for a process that has ended.
func status(pid int, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return field(text, name)
}

func field(text []byte, name string) string {
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, name+":"); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func isAlive(pid int) bool {
	state := status(pid, "State")
	return state != "" && !strings.HasPrefix(state, "Z")
}

// resident returns the memory of processes in KiB. Pages that processes share are divided
// among them (PSS), so that many small processes of one program are not overrated.
func resident(pids []int) int {
	sum := 0
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // a process that has ended has none
		n, _ := strconv.Atoi(strings.TrimSuffix(field(text, "Pss"), " kB"))
		sum += n
	}
	return sum
}

// tree returns a process and all below it.
func tree(root int) []int {
	parents := map[int][]int{}
	entries, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, entry := range entries {
		pid, _ := strconv.Atoi(filepath.Base(entry))
		parent, _ := strconv.Atoi(status(pid, "PPid"))
		parents[parent] = append(parents[parent], pid)
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, parents[all[i]]...)
	}
	return all
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

const listenTime = time.Minute

// listening waits until a program listens on an address, for at most listenTime.
func listening(ctx context.Context, address string, p *process) error {
	deadline := time.Now().Add(listenTime)
	for time.Now().Before(deadline) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.ended:
			return errors.New("the program exited before it listened")
		default:
			wait(ctx, 20*time.Millisecond)
		}
	}
	return fmt.Errorf("nothing listens on %s after %v", address, listenTime)
}

// killPrograms ends the servers that a proxy has left behind.
func (r *rig) killPrograms() {
	for _, pid := range r.record().programs() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func nodeVersion() string {
	text, err := exec.Command("node", "--version").Output() //nolint:noctx // it prints a line
	if err != nil {
		return "missing"
	}
	return strings.TrimSpace(string(text))
}
