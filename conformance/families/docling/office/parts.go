package office

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"hash/crc32"
	"io"
	"net/url"
	"path"
	"strings"
)

// Limits of an archive. A part is unpacked only within them (S2-CONV-10).
const (
	maxEntries  = 10_000
	maxPart     = 64 << 20  // bytes of one part, unpacked
	maxUnpacked = 256 << 20 // bytes of all parts, unpacked
	maxRatio    = 200       // unpacked to packed, for parts over ratioFrom
	ratioFrom   = 1 << 20
)

// compoundFile begins the container of the older formats. An encrypted OOXML
// file is one too, with the archive inside.
var compoundFile = []byte{0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1}

// encryptedPackage is the name of the stream that holds an encrypted archive, in
// the UTF-16 of a compound file's directory.
var encryptedPackage = []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")

// parts are the files of an OOXML archive.
type parts struct {
	ctx   context.Context      // of the one conversion that they are read for
	files map[string]*zip.File // by partName
	main  string
	read  int64 // bytes unpacked so far
	nodes int   // XML elements kept so far

	images int // bytes of embedded images so far
	points int // points of charts so far
	// resolve finds the cells that a chart refers to, in workbooks.
	resolve func(reference string) ([]string, error)
}

func open(ctx context.Context, data []byte) (*parts, error) {
	switch {
	case len(data) == 0:
		return nil, failf(StageOpen, Empty, "the file has no bytes")
	case bytes.HasPrefix(data, compoundFile) && bytes.Contains(data, encryptedPackage):
		return nil, failf(StageOpen, Encrypted, "the file is protected by a password")
	case bytes.HasPrefix(data, compoundFile):
		return nil, failf(StageOpen, Unsupported, "a file of the format before OOXML")
	case !bytes.HasPrefix(data, []byte("PK")):
		return nil, failf(StageOpen, Corrupt, "the file is no zip archive")
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, failf(StageOpen, Corrupt, "zip: %w", err)
	}
	if len(archive.File) > maxEntries {
		return nil, failf(StageOpen, TooLarge, "over %d files in the archive", maxEntries)
	}
	p := &parts{ctx: ctx, files: make(map[string]*zip.File, len(archive.File))}
	var total uint64
	for _, f := range archive.File {
		if err := checkEntry(f); err != nil {
			return nil, err
		}
		if total += f.UncompressedSize64; total > maxUnpacked {
			return nil, failf(StageOpen, TooLarge, "over %d bytes unpacked", maxUnpacked)
		}
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		p.files[partName(f.Name)] = f // of two of one name the last counts, as in other programs
	}
	return p, nil
}

// partName is the one form of a part's name. Names are equal whatever their case
// and escapes; some programs write them with a leading slash or with backslashes.
func partName(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+name), "/"))
}

// checkEntry judges a file by what the archive says of it. part does not trust
// that and counts again.
func checkEntry(f *zip.File) error {
	switch {
	case f.Flags&1 != 0:
		return failf(StageOpen, Encrypted, "the archive is protected by a password")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return failf(StageOpen, Unsupported, "compression method %d", f.Method)
	case f.UncompressedSize64 > maxPart:
		return failf(StageOpen, TooLarge, "a file of %d bytes in the archive", f.UncompressedSize64)
	case f.UncompressedSize64 > ratioFrom && f.UncompressedSize64/maxRatio > f.CompressedSize64:
		return failf(StageOpen, TooLarge, "a file in the archive is packed more than %d to 1", maxRatio)
	}
	return nil
}

// part unpacks one file; nil without an error when there is none or it is empty.
// What stands behind a file, its size once more, is often wrong and not read.
func (p *parts) part(name string) ([]byte, error) {
	f := p.files[name]
	if f == nil {
		return nil, nil
	}
	packed, err := f.OpenRaw()
	if err != nil {
		return nil, failf(StageOpen, Corrupt, "zip: %w", err)
	}
	left := min(maxPart, maxUnpacked-p.read)
	unpacked := packed
	if f.Method == zip.Deflate {
		unpacked = flate.NewReader(packed)
	}
	data, err := io.ReadAll(io.LimitReader(unpacked, left+1))
	p.read += int64(len(data))
	switch {
	case int64(len(data)) > left:
		return nil, failf(StageOpen, TooLarge, "over %d bytes unpacked", left)
	case err != nil:
		return nil, failf(StageOpen, Corrupt, "zip: %w", err)
	case uint64(len(data)) != f.UncompressedSize64:
		return nil, failf(StageOpen, Corrupt, "zip: %.100q is not as long as stated", name)
	case crc32.ChecksumIEEE(data) != f.CRC32:
		return nil, failf(StageOpen, Corrupt, "zip: checksum error in %.100q", name)
	case len(data) == 0:
		return nil, nil
	}
	return data, nil
}

// A relation leads from a part to another one, or out of the file.
type relation struct {
	kind     string
	target   string // the name of a part, or an address
	external bool
}

// relations are those of a part by their ids. The archive itself is "".
func (p *parts) relations(part string) (map[string]relation, error) {
	dir, base := path.Split(part)
	root, err := p.tree(dir + "_rels/" + base + ".rels")
	if err != nil || root == nil {
		return nil, err
	}
	found := make(map[string]relation)
	for _, e := range root.all("Relationship") {
		r := relation{kind: e.attr("Type"), target: e.attr("Target"), external: e.attr("TargetMode") == "External"}
		if !r.external {
			r.target = resolve(dir, r.target)
		}
		found[e.attr("Id")] = r
	}
	return found, nil
}

// resolve is the name of the part that a target names from a folder.
func resolve(dir, target string) string {
	target, _, _ = strings.Cut(strings.ReplaceAll(target, `\`, "/"), "#")
	switch {
	case target == "":
		return ""
	case strings.HasPrefix(target, "/"):
		return partName(target)
	}
	return partName(dir + target)
}

// related is the target of the first relation of that kind.
func related(rels map[string]relation, kind string) string {
	best := ""
	for _, r := range rels {
		if strings.HasSuffix(r.kind, "/"+kind) && !r.external && (best == "" || r.target < best) {
			best = r.target
		}
	}
	return best
}
