package docling

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
)

// A mutator makes mutants of a document. The same seed makes the same mutant.
type mutator struct {
	*rand.Rand
	format string
}

func newMutator(format string, seed uint64) *mutator {
	return &mutator{rand.New(rand.NewPCG(seed, uint64(len(format))<<8|uint64(format[0]))), format}
}

// mutate returns a mutant of data, in one or a few places.
func (m *mutator) mutate(data []byte) []byte {
	out := bytes.Clone(data)
	if m.IntN(5) == 0 {
		return m.bytes(out)
	}
	for range 1 + m.IntN(3) {
		switch m.format {
		case formatPDF:
			out = m.pdf(out)
		case formatHTML:
			out = m.tags(out)
		default:
			out = m.zip(out)
		}
	}
	return out
}

// span is a part of n bytes, mostly a small one.
func (m *mutator) span(n int) (from, to int) {
	from = m.IntN(n)
	return from, min(n, from+1+m.IntN(1+min(n, 1<<m.IntN(12))))
}

var oddBytes = []string{"\x00", "\xff", "(", ")", "<<", ">>", "[", "]", "/", "%", "<", ">", "&", "\"", "99999999999", "-1", "0", "1e309", "\n"}

// bytes mutates without regard to what the bytes are.
func (m *mutator) bytes(data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	from, to := m.span(len(data))
	switch m.IntN(8) {
	case 0, 1: // bit flips
		for range 1 + m.IntN(16) {
			data[m.IntN(len(data))] ^= 1 << m.IntN(8)
		}
		return data
	case 2: // cut off
		return data[:from]
	case 3: // a part twice
		return bytes.Join([][]byte{data[:to], data[from:]}, nil)
	case 4: // a part gone
		return bytes.Join([][]byte{data[:from], data[to:]}, nil)
	case 5: // a part elsewhere
		at := m.IntN(len(data))
		return bytes.Join([][]byte{data[:at], data[from:to], data[at:]}, nil)
	case 6: // another number
		return m.number(data)
	}
	return bytes.Join([][]byte{data[:from], []byte(oddBytes[m.IntN(len(oddBytes))]), data[to:]}, nil)
}

var numbers = regexp.MustCompile(`[0-9]+`)

var oddNumbers = []string{"0", "1", "-1", "255", "65536", "2147483647", "2147483648", "4294967295", "9223372036854775807", "99999999999999999999", "0.5"}

func (m *mutator) number(data []byte) []byte {
	found := numbers.FindAllIndex(data, 4000)
	if len(found) == 0 {
		return data
	}
	at := found[m.IntN(len(found))]
	return bytes.Join([][]byte{data[:at[0]], []byte(oddNumbers[m.IntN(len(oddNumbers))]), data[at[1]:]}, nil)
}

var element = regexp.MustCompile(`</?[A-Za-z][^<>]*>`)

// tags mutates markup: tags gone, doubled, exchanged or deeply nested.
func (m *mutator) tags(data []byte) []byte {
	found := element.FindAllIndex(data, 20_000)
	if len(found) == 0 {
		return m.bytes(data)
	}
	a, b := found[m.IntN(len(found))], found[m.IntN(len(found))]
	if a[0] > b[0] {
		a, b = b, a
	}
	switch m.IntN(8) {
	case 0: // a tag gone
		return bytes.Join([][]byte{data[:a[0]], data[a[1]:]}, nil)
	case 1: // a tag twice
		return bytes.Join([][]byte{data[:a[1]], data[a[0]:]}, nil)
	case 2: // a tag elsewhere
		return bytes.Join([][]byte{data[:b[0]], data[a[0]:a[1]], data[b[0]:]}, nil)
	case 3: // all between two tags gone
		return bytes.Join([][]byte{data[:a[0]], data[b[1]:]}, nil)
	case 4: // all between two tags twice
		return bytes.Join([][]byte{data[:b[1]], data[a[0]:]}, nil)
	case 5: // one tag many times
		return bytes.Join([][]byte{data[:a[0]], bytes.Repeat(data[a[0]:a[1]], 1+m.IntN(2000)), data[a[1]:]}, nil)
	case 6: // an entity or a declaration
		odd := []string{"<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\">]>", "&a;", "&#0;", "&#x110000;", "<![CDATA[", "]]>", "<!--", "<?x?>"}
		return bytes.Join([][]byte{data[:a[0]], []byte(odd[m.IntN(len(odd))]), data[a[0]:]}, nil)
	}
	return m.number(data)
}

// zip mutates the parts of an archive and packs them again, so that what is
// wrong lies deeper than a checksum.
func (m *mutator) zip(data []byte) []byte {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(r.File) == 0 {
		return m.bytes(data)
	}
	type part struct {
		name string
		body []byte
	}
	var parts []part
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			return m.bytes(data)
		}
		body, err := io.ReadAll(io.LimitReader(in, 4<<20))
		_ = in.Close()
		if err != nil {
			return m.bytes(data)
		}
		parts = append(parts, part{f.Name, body})
	}
	i, j := m.IntN(len(parts)), m.IntN(len(parts))
	switch p := &parts[i]; m.IntN(10) {
	case 0: // a part gone
		parts = append(parts[:i], parts[i+1:]...)
	case 1: // a part twice
		parts = append(parts, part{p.name, m.bytes(bytes.Clone(p.body))})
	case 2: // the content of another part
		p.body = parts[j].body
	case 3: // another name
		p.name = []string{"../../evil.xml", "/etc/x", strings.Repeat("a", 300), "word/../word/document.xml", fmt.Sprint(j)}[m.IntN(5)]
	case 4:
		p.body = m.bytes(p.body)
	default:
		p.body = m.tags(p.body)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, p := range parts {
		f, err := w.Create(p.name)
		if err != nil {
			return data
		}
		_, _ = f.Write(p.body) // to memory
	}
	_ = w.Close()
	return out.Bytes()
}
