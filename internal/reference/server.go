package reference

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// Server is a reference server in the host's process. Its methods may be called from many
// goroutines at once.
type Server struct {
	id    int
	url   string
	conn  *net.TCPConn
	log   io.Writer
	trips http.Transport // to the server
	ended chan error     // receives one value when the server has ended
	once  sync.Once
	close error
}

// New starts a server. The caller closes it.
func New(o Options) (*Server, error) {
	h, err := hosted()
	if err != nil {
		return nil, err
	}
	conn, err := h.dial(Request{New: &o, Log: o.Log != nil})
	if err != nil {
		return nil, err
	}
	s := &Server{conn: conn, log: o.Log, trips: http.Transport{DisableCompression: true}, ended: make(chan error, 1)}
	started := make(chan Reply, 1)
	go s.read(started)
	select {
	case said := <-started:
		s.id, s.url = said.ID, said.URL
		return s, nil
	case err := <-s.ended:
		return nil, errors.Join(err, conn.Close())
	}
}

// dial opens a connection to the host and sends its first line.
func (h *host) dial(first Request) (*net.TCPConn, error) {
	line, err := json.Marshal(first)
	if err != nil {
		return nil, err
	}
	addr, err := net.ResolveTCPAddr("tcp", h.address)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTCP("tcp", nil, addr)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// read reads the host's messages about the server until the server has ended.
func (s *Server) read(started chan<- Reply) {
	lines := bufio.NewReader(s.conn)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.ended <- fmt.Errorf("the host of the reference server: %w", err)
			return
		}
		var said Reply
		if err := json.Unmarshal(line, &said); err != nil {
			s.ended <- err
			return
		}
		switch {
		case said.Closed && said.Error != "":
			s.ended <- errors.New(said.Error)
			return
		case said.Closed:
			s.ended <- nil
			return
		case said.URL != "":
			started <- said
		default:
			_, _ = io.WriteString(s.log, said.Log) // a test's log never fails
		}
	}
}

// ServeStdio serves a pair of streams until in ends or ctx is done. It closes in if that is an
// io.Closer.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	h, err := hosted()
	if err != nil {
		return err
	}
	conn, err := h.dial(Request{Serve: s.id})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.CloseWrite() }) // for the server, both are the end of the input
	defer stop()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(conn, in) // ends when the server or its input has ended
		_ = conn.CloseWrite()
	}()
	_, err = io.Copy(out, conn)
	err = errors.Join(err, conn.Close())
	if c, ok := in.(io.Closer); ok {
		_ = c.Close() // the server has ended
	}
	<-copied
	return err
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.trips.CloseIdleConnections()
		_ = s.conn.CloseWrite() // an error reaches the reader, too
		s.close = errors.Join(<-s.ended, s.conn.Close())
	})
	return s.close
}
