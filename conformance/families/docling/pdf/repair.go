package pdf

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

// maxRepaired is how many objects of a damaged file are looked at.
const maxRepaired = 200_000

var (
	objectStart  = regexp.MustCompile(`(?:^|[\s>)\]]|endobj)(\d{1,7})[ \t\r\n]+(\d{1,5})[ \t\r\n]+obj\b`)
	streamStart  = regexp.MustCompile(`>>\s*stream(\r\n|\n|\r)`)
	streamLength = regexp.MustCompile(`/Length\s+\d+(\s+\d+\s+R)?`)
	catalog      = regexp.MustCompile(`/Type\s*/Catalog\b`)
	rootEntry    = regexp.MustCompile(`/Root\s+(\d{1,7})\s+(\d{1,5})\s+R`)
	encryptEntry = regexp.MustCompile(`/Encrypt\s+(\d{1,7})\s+\d{1,5}\s+R`)
	idEntry      = regexp.MustCompile(`/ID\s*\[\s*<[0-9A-Fa-f\s]*>\s*<[0-9A-Fa-f\s]*>\s*\]`)
	filterEntry  = regexp.MustCompile(`/CF\s+(\d{1,7})\s+\d{1,5}\s+R`)
	reference    = regexp.MustCompile(`(\d{1,7})\s+\d{1,5}\s+R\b`)
	plainStreams = regexp.MustCompile(`/StmF\s*/Identity\b`)
)

// repair writes a file again from the objects that stand in it, the last one of
// each number, with right lengths of streams and a right table of offsets. ok is
// false where no catalog is found. Objects within streams stay there: the
// library finds them.
func repair(data []byte) (out []byte, ok bool) {
	found := objectStart.FindAllSubmatchIndex(data, maxRepaired)
	bodies := map[int][]byte{}
	generations := map[int]string{}
	var order []int
	root := -1
	for i, at := range found {
		end := len(data)
		if i+1 < len(found) {
			end = found[i+1][2]
		}
		n, _ := strconv.Atoi(string(data[at[2]:at[3]])) // digits
		if bodies[n] == nil {
			order = append(order, n)
		}
		bodies[n], generations[n] = data[at[1]:end], string(data[at[4]:at[5]])
		if catalog.Match(bodies[n]) {
			root = n
		}
	}
	if named := rootEntry.FindAllSubmatch(data, -1); len(named) > 0 {
		n, _ := strconv.Atoi(string(named[len(named)-1][1])) // digits
		if bodies[n] != nil {
			root = n
		}
	}
	if root < 0 {
		return nil, false
	}
	encrypt := encryption(data, bodies)
	var file, table bytes.Buffer
	file.WriteString("%PDF-1.7\n")
	most := 0
	for _, n := range order {
		most = max(most, n)
		fmt.Fprintf(&table, "%d 1\n%010d %05s n \n", n, file.Len(), generations[n])
		fmt.Fprintf(&file, "%d %s obj", n, generations[n])
		file.Write(object(bodies[n]))
		file.WriteString("\nendobj\n")
	}
	at := file.Len()
	fmt.Fprintf(&file, "xref\n0 1\n0000000000 65535 f \n%strailer\n<</Size %d/Root %d %s R %s>>\nstartxref\n%d\n%%%%EOF\n",
		table.Bytes(), most+1, root, generations[root], encrypt, at)
	return file.Bytes(), true
}

// object is the body of an object up to its end, with a right length if it is a
// stream.
func object(body []byte) []byte {
	if at := streamStart.FindSubmatchIndex(body); at != nil {
		dict, content := body[:at[0]], body[at[1]:]
		if end := bytes.LastIndex(content, []byte("endstream")); end >= 0 {
			content = content[:end]
		}
		dict = streamLength.ReplaceAll(dict, nil)
		return fmt.Appendf(nil, "%s/Length %d>>\nstream\n%s\nendstream", dict, len(content), content)
	}
	for _, end := range []string{"endobj", "xref", "trailer", "startxref"} {
		if at := bytes.Index(body, []byte(end)); at >= 0 {
			body = body[:at]
		}
	}
	return body
}

// encryption is the entries that a trailer must have for the file to be
// decrypted, as they stand in it; none where its streams are not encrypted. It
// mends the dictionary they name.
func encryption(data []byte, bodies map[int][]byte) []byte {
	found := encryptEntry.FindAllSubmatch(data, -1)
	if len(found) == 0 {
		return nil
	}
	last := found[len(found)-1]
	n, _ := strconv.Atoi(string(last[1])) // digits
	if plainStreams.Match(bodies[n]) {
		return nil
	}
	if at := filterEntry.FindSubmatchIndex(bodies[n]); at != nil { // the library wants it in its place
		follow := func(ref []byte) []byte {
			n, _ := strconv.Atoi(string(reference.FindSubmatch(ref)[1])) // digits
			return object(bodies[n])
		}
		filters := reference.ReplaceAllFunc(follow(bodies[n][at[0]:at[1]]), follow)
		bodies[n] = fmt.Appendf(nil, "%s/CF %s%s", bodies[n][:at[0]], filters, bodies[n][at[1]:])
	}
	out := bytes.Clone(last[0])
	if id := idEntry.Find(data); id != nil {
		out = append(append(out, ' '), id...)
	}
	return out
}
