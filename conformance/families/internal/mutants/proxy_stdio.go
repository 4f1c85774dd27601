package mutants

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"sync"
)

// Serve returns the mutant of a server over stdio.
func (m Mutant) Serve(server Serve) Serve {
	serve := func(ctx context.Context, in io.Reader, out io.Writer) error {
		return newProxy(m).pipe(ctx, server, in, out)
	}
	if p := m.plant().program; p != nil {
		return p(serve)
	}
	return serve
}

// pipe stands between a client on in and out and one run of the server.
func (p *proxy) pipe(ctx context.Context, server Serve, in io.Reader, out io.Writer) error {
	toServer, requests := io.Pipe()
	answers, fromServer := io.Pipe()
	var mu sync.Mutex
	write := func(line []byte) {
		lines := [][]byte{line}
		if p.line != nil {
			lines = p.line(line)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, line := range lines {
			_, _ = out.Write(append(line, '\n')) // a client that has gone reads nothing
		}
	}
	var back sync.WaitGroup
	back.Go(func() {
		eachLine(answers, func(line []byte) bool {
			message, ok := decode(line)
			if !ok {
				write(line)
				return true
			}
			for _, reply := range p.replace(&exchange{}, message) {
				write(encode(reply))
			}
			return true
		})
	})
	go func() {
		eachLine(in, func(line []byte) bool {
			x := read(line)
			if x.message != nil && p.request != nil {
				before := string(encode(x.message))
				p.mu.Lock()
				replies := p.request(x)
				p.mu.Unlock()
				for _, reply := range replies {
					write(encode(reply))
				}
				if replies != nil {
					return true
				}
				if string(encode(x.message)) != before {
					line = encode(x.message)
				}
			}
			if x.isRequest() {
				p.remember(x)
			}
			_, err := requests.Write(append(line, '\n'))
			return err == nil
		})
		_ = requests.Close() // never fails
	}()
	err := server(ctx, toServer, fromServer)
	_ = toServer.Close()   // never fails
	_ = fromServer.Close() // never fails
	back.Wait()
	return err
}

// eachLine calls f for the lines of in until f returns false; the last line
// need not end.
func eachLine(in io.Reader, f func(line []byte) bool) {
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		line = bytes.TrimSuffix(line, []byte("\n"))
		if (len(line) > 0 || err == nil) && !f(line) || err != nil {
			return
		}
	}
}
