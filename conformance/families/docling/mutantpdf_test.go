package docling

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

var (
	pdfObject    = regexp.MustCompile(`(?s)\n(\d+) 0 obj(.*?)\nendobj`)
	pdfStream    = regexp.MustCompile(`(?s)^(.*?)>>\s*stream\r?\n(.*?)\r?\nendstream`)
	pdfFilter    = regexp.MustCompile(`/Filter\s*/FlateDecode|/Length\s+\d+ 0 R|/Length\s+\d+|/Length1\s+\d+`)
	pdfRoot      = regexp.MustCompile(`/Root\s+(\d+) 0 R`)
	pdfReference = regexp.MustCompile(`\d+ 0 R`)
	pdfName      = regexp.MustCompile(`/[A-Za-z]+`)
	pdfOperator  = regexp.MustCompile(`\n[A-Za-z*']+\b`)
)

// pdf mutates the objects of a PDF file, unpacked, and writes it again with a
// right table of offsets, so that what is wrong lies deeper than that table.
func (m *mutator) pdf(data []byte) []byte {
	found := pdfObject.FindAllSubmatch(data, 2000)
	root := pdfRoot.FindSubmatch(data)
	if len(found) == 0 || root == nil {
		return m.bytes(data)
	}
	objects := map[int][]byte{}
	var order []int
	for _, o := range found {
		n, _ := strconv.Atoi(string(o[1]))
		objects[n] = unpack(o[2])
		order = append(order, n)
	}
	n := order[m.IntN(len(order))]
	body := objects[n]
	switch m.IntN(8) {
	case 0: // an object gone
		delete(objects, n)
	case 1: // another object in its place
		objects[n] = objects[order[m.IntN(len(order))]]
	case 2, 3:
		objects[n] = m.exchange(body, pdfReference, fmt.Sprintf("%d 0 R", order[m.IntN(len(order))]))
	case 4:
		objects[n] = m.exchange(body, pdfName, string(oneOf(m, pdfName.FindAll(data, 500))))
	case 5:
		objects[n] = m.exchange(body, pdfOperator, string(oneOf(m, pdfOperator.FindAll(body, 500))))
	case 6:
		objects[n] = m.number(body)
	default:
		objects[n] = m.bytes(bytes.Clone(body))
	}
	return packPDF(order, objects, string(root[1]))
}

func oneOf(m *mutator, all [][]byte) []byte {
	if len(all) == 0 {
		return nil
	}
	return all[m.IntN(len(all))]
}

// exchange puts something else in one place of what re finds.
func (m *mutator) exchange(data []byte, re *regexp.Regexp, with string) []byte {
	found := re.FindAllIndex(data, 4000)
	if len(found) == 0 {
		return m.bytes(bytes.Clone(data))
	}
	at := found[m.IntN(len(found))]
	return bytes.Join([][]byte{data[:at[0]], []byte(with), data[at[1]:]}, nil)
}

// unpack inflates the stream of an object, if it has one.
func unpack(body []byte) []byte {
	s := pdfStream.FindSubmatch(body)
	if s == nil {
		return body
	}
	r, err := zlib.NewReader(bytes.NewReader(s[2]))
	if err != nil {
		return body
	}
	plain, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil && len(plain) == 0 {
		return body
	}
	return fmt.Appendf(nil, "%s/Length %d>>\nstream\n%s\nendstream", pdfFilter.ReplaceAll(s[1], nil), len(plain), plain)
}

// packPDF writes objects with a table of their offsets.
func packPDF(order []int, objects map[int][]byte, root string) []byte {
	var out bytes.Buffer
	out.WriteString("%PDF-1.6\n")
	var table bytes.Buffer
	most := 0
	for _, n := range order {
		body, ok := objects[n]
		if !ok {
			continue
		}
		most = max(most, n)
		fmt.Fprintf(&table, "%d 1\n%010d 00000 n \n", n, out.Len())
		fmt.Fprintf(&out, "%d 0 obj%s\nendobj\n", n, body)
	}
	at := out.Len()
	fmt.Fprintf(&out, "xref\n0 1\n0000000000 65535 f \n%strailer\n<</Size %d/Root %s 0 R>>\nstartxref\n%d\n%%%%EOF\n", table.Bytes(), most+1, root, at)
	return out.Bytes()
}
