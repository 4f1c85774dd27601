package peer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// A client under test starts its stdio server as a program. That program is a bridge: it
// carries its standard streams over a connection to the suite, which is the server, and
// runs the suite's commands on its process.
//
// Each frame on the connection is a kind, the length of its body as four bytes,
// big endian, and the body.
const (
	frameHello  = 'T' // to the suite: the token of the scenario
	frameIn     = 'I' // to the suite: bytes of stdin
	frameEOF    = 'E' // to the suite: stdin has ended
	frameSignal = 'S' // to the suite: the name of a signal
	frameOut    = 'O' // to the bridge: bytes for stdout
	frameErr    = 'R' // to the bridge: bytes for stderr
	frameClose  = 'C' // to the bridge: close stdout and keep running
	frameDeaf   = 'D' // to the bridge: close stdin and keep running
	frameExit   = 'X' // to the bridge: end, with this status
)

const maxBridgeFrame = 64 << 10

// frames writes frames. Safe for concurrent use.
type frames struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frames) write(kind byte, body []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		part := body[:min(len(body), maxBridgeFrame)]
		head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(part)))
		if _, err := f.w.Write(append(head, part...)); err != nil {
			return err
		}
		if body = body[len(part):]; len(body) == 0 {
			return nil
		}
	}
}

func readFrame(r *bufio.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxBridgeFrame {
		return 0, nil, errors.New("a frame of the bridge is too long")
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}

// exitLost is the status of a bridge that lost the suite.
const exitLost = 70

// Bridge is the program that a client under test starts as its server. operand is the last
// argument of the process. Bridge carries the streams of the process to the suite and
// reports its signals. It returns the exit status when the suite ends the program, or has
// ended. Call it once in a process, then exit.
func Bridge(operand string) int {
	address, token, _ := strings.Cut(operand, "/")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the conformance suite is gone:", err)
		return exitLost
	}
	came := make(chan os.Signal, 1)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM)
	names := make(chan string)
	go func() {
		for s := range came {
			name := "INT"
			if s == syscall.SIGTERM {
				name = "TERM"
			}
			names <- name
		}
	}()
	return RunBridge(conn, token, os.Stdin, os.Stdout, os.Stderr, names)
}

// RunBridge is [Bridge] over a connection, which it closes, and other streams. It does not
// wait for a Read of stdin that does not return.
func RunBridge(conn net.Conn, token string, stdin io.ReadCloser, stdout io.WriteCloser, stderr io.Writer, signals <-chan string) int {
	defer func() { _ = conn.Close() }() // the end either way
	up := &frames{w: conn}
	if err := up.write(frameHello, []byte(token)); err != nil {
		fmt.Fprintln(stderr, "the conformance suite is gone:", err)
		return exitLost
	}
	go func() {
		buf := make([]byte, maxBridgeFrame)
		for {
			n, err := stdin.Read(buf)
			if n > 0 && up.write(frameIn, buf[:n]) != nil {
				return
			}
			if err != nil {
				_ = up.write(frameEOF, nil) // the suite may be gone
				return
			}
		}
	}()
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case name := <-signals:
				_ = up.write(frameSignal, []byte(name)) // the suite may be gone
			case <-over:
				return
			}
		}
	}()
	return carryDown(bufio.NewReader(conn), stdin, stdout, stderr)
}

// carryDown runs the commands of the suite until the last one.
func carryDown(down *bufio.Reader, stdin io.Closer, stdout io.WriteCloser, stderr io.Writer) int {
	for {
		kind, body, err := readFrame(down)
		if err != nil {
			return exitLost
		}
		switch kind {
		case frameOut:
			_, err = stdout.Write(body)
		case frameErr:
			_, err = stderr.Write(body)
		case frameClose:
			err = stdout.Close()
		case frameDeaf:
			err = stdin.Close()
		case frameExit:
			if len(body) == 1 {
				return int(body[0])
			}
			return exitLost
		}
		if err != nil {
			return exitLost // the client closed its end of the pipe
		}
	}
}
