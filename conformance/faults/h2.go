package faults

import (
	"encoding/binary"
	"net"
	"sync"
)

// The frames of HTTP/2 (RFC 9113 section 6) and the errors (section 7) that the proxy uses.
const (
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	frameGoAway       = 7
	frameWindowUpdate = 8

	flagEndStream = 0x1 // of DATA and HEADERS
	flagAck       = 0x1 // of SETTINGS
	flagPadded    = 0x8

	settingMaxStreams    = 3
	settingInitialWindow = 4

	h2Internal = 2
	h2Refused  = 7
	h2Cancel   = 8
	h2Calm     = 11

	decideAt = 16 << 10 // of a body, when its end is not there: less than the window a client has
)

// framed is a connection of a server. If the client uses HTTP/2, it reads the frames:
// bodies are plain, so that a rule can select by the request. Headers are compressed with
// state on both sides, so header frames always pass.
type framed struct {
	net.Conn
	proxy *Proxy
	room  string // the form of B27, or empty

	// Only for the reading goroutine.
	decided bool // whether it is HTTP/2
	speaks  bool
	raw     []byte // read, not looked at
	ready   []byte // looked at, not given to the server
	bodies  map[uint32]*body
	passing map[uint32]bool // streams whose body is decided about
	dropped map[uint32]bool // streams that were closed on the client side

	mu       sync.Mutex // never held while something is read or written
	written  []byte     // the server's, not a whole frame yet
	begun    bool       // the server's settings are out
	early    []byte     // what must wait for them
	queue    []byte     // to be written
	flushing bool
	failed   error
	reset    map[uint32]uint32 // streams to reset when their answer comes, with the code; 0: done
}

// body is the part of a request that arrives before its fault is chosen.
type body struct {
	data   []byte
	frames []byte
	window uint32 // what the client counts as used
}

func newFramed(p *Proxy, conn net.Conn, room string) *framed {
	return &framed{Conn: conn, proxy: p, room: room, bodies: map[uint32]*body{}, passing: map[uint32]bool{}, dropped: map[uint32]bool{}, reset: map[uint32]uint32{}}
}

// NetConn returns the connection below, to reset it.
func (f *framed) NetConn() net.Conn { return f.Conn }

// CloseWrite closes one direction if the connection below can.
func (f *framed) CloseWrite() error {
	if c, ok := f.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return f.Conn.Close()
}

// Read implements [net.Conn].
func (f *framed) Read(b []byte) (int, error) {
	for len(f.ready) == 0 {
		if f.decided && !f.speaks {
			return f.Conn.Read(b)
		}
		block := make([]byte, max(len(b), 4096))
		n, err := f.Conn.Read(block)
		f.raw = append(f.raw, block[:n]...)
		if !f.decided {
			f.decide()
		}
		if f.speaks {
			f.frames()
		}
		if err != nil && len(f.ready) == 0 {
			return 0, err
		}
	}
	n := copy(b, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

// decide checks whether the client begins with HTTP/2.
func (f *framed) decide() {
	n := min(len(f.raw), len(preface))
	switch {
	case string(f.raw[:n]) != preface[:n]:
		f.decided = true
		f.ready, f.raw = f.raw, nil
	case n == len(preface):
		f.decided = true
		f.mu.Lock()
		f.speaks = true
		f.mu.Unlock()
		f.ready = append(f.ready, f.raw[:n]...)
		f.raw = f.raw[n:]
	}
}

// frame is one frame with its header.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
	all         []byte
}

// cutFrame removes the first complete frame.
func cutFrame(from []byte) (frame, []byte, bool) {
	const header = 9
	if len(from) < header {
		return frame{}, from, false
	}
	length := int(from[0])<<16 | int(from[1])<<8 | int(from[2])
	if len(from) < header+length {
		return frame{}, from, false
	}
	return frame{
		kind: from[3], flags: from[4], stream: binary.BigEndian.Uint32(from[5:9]) & (1<<31 - 1),
		payload: from[header : header+length], all: from[:header+length],
	}, from[header+length:], true
}

func makeFrame(kind byte, stream uint32, payload ...uint32) []byte {
	out := []byte{0, 0, byte(4 * len(payload)), kind, 0}
	out = binary.BigEndian.AppendUint32(out, stream)
	for _, v := range payload {
		out = binary.BigEndian.AppendUint32(out, v)
	}
	return out
}

// frames reads the frames of the client.
func (f *framed) frames() {
	for {
		one, rest, ok := cutFrame(f.raw)
		if !ok {
			return
		}
		f.raw = rest
		switch {
		case f.dropped[one.stream]:
		case one.kind == frameData && f.room == "stall":
			// Dropped: the server reads no bodies on this connection.
		case one.kind == frameData && !f.passing[one.stream] && (f.bodies[one.stream] != nil || f.proxy.active("B25") != nil || f.proxy.active("B26") != nil):
			f.gather(one)
		default:
			f.ready = append(f.ready, one.all...)
		}
	}
}

// gather holds a body until it identifies the request.
func (f *framed) gather(one frame) {
	b := f.bodies[one.stream]
	if b == nil {
		b = &body{}
		f.bodies[one.stream] = b
	}
	data := one.payload
	if one.flags&flagPadded != 0 && len(data) > 0 && int(data[0]) < len(data) {
		data = data[1 : len(data)-int(data[0])]
	}
	b.data = append(b.data, data...)
	b.frames = append(b.frames, one.all...)
	b.window += uint32(len(one.payload))
	ended := one.flags&flagEndStream != 0
	if !ended && len(b.data) < decideAt {
		return
	}
	f.judge(one.stream, b, ended)
}

// judge chooses the fault of a request.
func (f *framed) judge(stream uint32, b *body, ended bool) {
	m := preview(b.data)
	if ended {
		m = parse(b.data)
	}
	h := f.proxy.match(event{carrier: Conn, point: atFrames, method: m.Method, tool: m.tool, request: m.request()})
	delete(f.bodies, stream)
	if !ended {
		f.passing[stream] = true
	}
	if h == nil {
		f.ready = append(f.ready, b.frames...)
		return
	}
	f.harm(h, stream, b, m)
}

// harm makes a fault of a stream.
func (f *framed) harm(h *hit, stream uint32, b *body, m *message) {
	code := uint32(h2Refused)
	switch {
	case h.Fault == "B26" && h.form == "calm":
		code = h2Calm
	case h.Fault == "B26":
		code = h2Internal
	}
	if h.Fault == "B26" && !h.Unsent {
		// The server gets the request, and the client the beginning of the answer.
		f.mu.Lock()
		f.reset[stream] = code
		f.mu.Unlock()
		f.ready = append(f.ready, b.frames...)
		return
	}
	f.proxy.arrived(m, "", h)
	f.dropped[stream] = true
	// The server has the headers: to it, the client canceled.
	f.ready = append(f.ready, makeFrame(frameReset, stream, h2Cancel)...)
	if h.Fault == "B25" && h.form == "goaway" {
		f.tell(makeFrame(frameGoAway, 0, stream-1, 0))
		return
	}
	out := makeFrame(frameReset, stream, code)
	if b.window > 0 {
		out = append(out, makeFrame(frameWindowUpdate, 0, b.window)...)
	}
	f.tell(out)
}

// tell sends frames of the proxy to the client, after the server's settings. It does not
// wait, because the client may be blocked in a write.
func (f *framed) tell(frames []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		f.early = append(f.early, frames...)
		return
	}
	f.queue = append(f.queue, frames...)
	go func() { _ = f.flush() }() // ends with the connection at the latest
}

// flush writes what is queued, in order, one writer at a time.
func (f *framed) flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.flushing && f.failed == nil && len(f.queue) > 0 {
		f.flushing = true
		out := f.queue
		f.queue = nil
		f.mu.Unlock()
		_, err := f.Conn.Write(out)
		f.mu.Lock()
		f.flushing, f.failed = false, err
	}
	return f.failed
}

// Write implements [net.Conn].
func (f *framed) Write(b []byte) (int, error) {
	f.mu.Lock()
	if !f.speaks {
		f.mu.Unlock()
		return f.Conn.Write(b)
	}
	f.written = append(f.written, b...)
	for {
		one, rest, ok := cutFrame(f.written)
		if !ok {
			break
		}
		f.queue = append(f.queue, f.serverFrame(one)...)
		if !f.begun && one.kind == frameSettings {
			f.begun = true
			f.queue = append(f.queue, f.early...)
			f.early = nil
		}
		f.written = rest
	}
	f.mu.Unlock()
	if err := f.flush(); err != nil {
		return 0, err
	}
	return len(b), nil
}

// serverFrame returns the frame for the client instead of a frame of the server.
func (f *framed) serverFrame(one frame) []byte {
	code, doomed := f.reset[one.stream]
	switch {
	case one.kind == frameSettings && one.flags&flagAck == 0 && f.room != "":
		return f.settings(one)
	case one.kind == frameWindowUpdate && f.room == "stall":
		return nil
	case one.kind == frameData && doomed && code != 0:
		f.reset[one.stream] = 0 // said once
		return makeFrame(frameReset, one.stream, code)
	case doomed && code == 0 && one.kind != frameHeaders:
		return nil
	default:
		return one.all
	}
}

// settings returns the settings of the server with the limit of the fault.
func (f *framed) settings(one frame) []byte {
	id, value := uint16(settingInitialWindow), uint32(0)
	if f.room == "one-stream" {
		id, value = settingMaxStreams, 1
	}
	payload := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, id), value)
	for p := one.payload; len(p) >= 6; p = p[6:] {
		if binary.BigEndian.Uint16(p) != id {
			payload = append(payload, p[:6]...)
		}
	}
	out := []byte{0, 0, byte(len(payload)), frameSettings, 0, 0, 0, 0, 0}
	return append(out, payload...)
}
