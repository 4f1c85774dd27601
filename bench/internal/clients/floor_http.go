package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// plainHTTP is the floor over HTTP: a ready body, http.Client.Do with a pool
// that keeps its connections, and the answer read into memory that is used again.
type plainHTTP struct {
	url     string
	frames  frames
	http    *http.Client
	session string
	stream  context.CancelFunc
	closed  sync.WaitGroup
}

func dialPlainHTTP(ctx context.Context, o Options) (Client, error) {
	p := &plainHTTP{url: o.URL, frames: frames{modern: o.Modern}, stream: func() {}}
	p.http = &http.Client{Transport: o.Shared}
	if o.Shared == nil {
		p.http.Transport = NewPool()
	}
	method, rest := p.frames.opening()
	if err := p.open(ctx, method, rest); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if o.Listen {
		if err := p.listen(ctx); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

func (p *plainHTTP) open(ctx context.Context, method string, rest []byte) error {
	resp, err := p.post(ctx, method, "", withID(nil, 0, rest))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read to its end
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if p.frames.modern {
		return nil
	}
	p.session = resp.Header.Get("Mcp-Session-Id")
	done, err := p.post(ctx, "notifications/initialized", "", []byte(initialized))
	if err != nil {
		return err
	}
	return done.Body.Close()
}

// post sends one message. Any status that is not 2xx is an error.
func (p *plainHTTP) post(ctx context.Context, method, tool string, message []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if p.frames.modern {
		req.Header.Set("Mcp-Protocol-Version", Modern)
		req.Header.Set("Mcp-Method", method)
		if tool != "" {
			req.Header.Set("Mcp-Name", tool)
		}
	} else if p.session != "" {
		req.Header.Set("Mcp-Protocol-Version", Legacy)
		req.Header.Set("Mcp-Session-Id", p.session)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, errors.Join(fmt.Errorf("status %s", resp.Status), resp.Body.Close())
	}
	return resp, nil
}

func (p *plainHTTP) listen(ctx context.Context) error {
	// The stream outlives connecting.
	ctx, p.stream = context.WithCancel(context.WithoutCancel(ctx))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", p.session)
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("stream: status %s", resp.Status), resp.Body.Close())
	}
	p.closed.Go(func() {
		_, err := io.Copy(io.Discard, resp.Body)
		_ = errors.Join(err, resp.Body.Close()) // ends when Close cancels it
	})
	return nil
}

var bodies = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// Call implements Client.
func (p *plainHTTP) Call(ctx context.Context, tool string, args any) (int, error) {
	// Over HTTP an id meets no other one, so the body is always the same.
	message, err := p.frames.whole(tool, args)
	if err != nil {
		return 0, err
	}
	resp, err := p.post(ctx, "tools/call", tool, message)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read to its end
	kept := bodies.Get().(*[]byte)           // the pool holds nothing else
	defer bodies.Put(kept)
	n, size := 0, 0
	for {
		if n == len(*kept) {
			// A large answer is read and thrown away.
			n = 0
		}
		m, err := resp.Body.Read((*kept)[n:])
		n += m
		size += m
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if size > len(*kept) {
		return size, nil
	}
	return textLength((*kept)[:n])
}

// List implements Client.
func (p *plainHTTP) List(ctx context.Context) (int, error) {
	resp, err := p.post(ctx, "tools/list", "", withID(nil, 1, p.frames.rest("tools/list", "")))
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read to its end
	kept := bodies.Get().(*[]byte)           // the pool holds nothing else
	defer bodies.Put(kept)
	return countTools(resp.Body, *kept, false)
}

// Close implements Client.
func (p *plainHTTP) Close() error {
	p.stream()
	p.closed.Wait()
	p.http.CloseIdleConnections()
	return nil
}
