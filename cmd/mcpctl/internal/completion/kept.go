package completion

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Store is the variable that names the folder in which the lists of servers are kept between
// runs, for completion; its value may be off.
const Store = "MCPCTL_COMPLETION_CACHE"

const (
	// maxList bounds a list that is kept: a larger one could not be read while a person waits.
	maxList = 4 << 20
	// maxAbout is how much of a description is shown beside a word.
	maxAbout = 80
	// maxLists is how many are kept: four of a server.
	maxLists = 512
)

// Keep makes a run keep the lists that servers give it. A server hides tools from a run that
// cannot answer what they ask: such a list does not take the place of a fuller one.
func Keep(d *connect.Dialer) {
	d.Listed = func(ctx context.Context, t target.Target, list string, items []*doc.Value, pages []json.RawMessage) {
		if k := open(d); k != nil {
			k.save(ctx, t, list, items, pages, d.Replies != nil)
		}
	}
}

// appendOthers appends the items of an older list that are not among the newer ones.
func appendOthers(text, old []byte, list string, items []*doc.Value) []byte {
	shown := map[string]bool{}
	for _, v := range items {
		shown[v.Get(listed(list).ID).Str()] = true
	}
	for line := range bytes.Lines(old) {
		if item, ok := parseItem(string(line)); ok && !shown[item.id] {
			text = append(text, line...)
		}
	}
	return text
}

// kept are the lists of servers on disk.
type kept struct{ files toolcache.FileStore }

// open returns the lists, nil if none are kept.
func open(d *connect.Dialer) *kept {
	folder, set := d.Console.Env(Store)
	if folder == "off" {
		return nil
	}
	if !set || folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		folder = filepath.Join(cache, "mainstay", "completion")
	}
	return &kept{toolcache.FileStore{Dir: folder, Files: maxLists, MaxBytes: maxList}}
}

// item is one of a list that is kept: a line with its name, what it means, and all of it as JSON.
// To list a thousand names, nobody reads a thousand schemas.
type item struct {
	id, about string
	text      string
}

// whole is the item as the server described it, nil for none.
func (i item) whole() *doc.Value {
	v, err := doc.Parse([]byte(i.text))
	if err != nil {
		return nil
	}
	return v
}

// textOf is a list of items as it is kept.
func textOf(list string, items []*doc.Value) []byte {
	var text []byte
	for _, v := range items {
		about := v.Get("description").Str()
		if about == "" {
			about = v.Get("title").Str()
		}
		text = jsonrpc.AppendString(text, v.Get(listed(list).ID).Str())
		text = jsonrpc.AppendString(append(text, '\t'), visible.Cut(visible.Line(console.OneLine(about)), maxAbout))
		text = append(v.AppendJSON(append(text, '\t')), '\n')
	}
	return text
}

// mark is the first line of a list that is kept: the hash of the answers that it was made of, and
// whether they were only a part. It is no item.
func mark(pages []json.RawMessage, part bool) []byte {
	all := sha256.New()
	if part {
		all.Write([]byte("part"))
	}
	for _, page := range pages {
		all.Write(page)
	}
	return append(hex.AppendEncode([]byte("#"), all.Sum(nil)), '\n')
}

// save keeps a list, with what an older one has besides if it is only a part. One that cannot be kept
// is not completed, which is no failure of the run.
func (k *kept) save(ctx context.Context, t target.Target, list string, items []*doc.Value, pages []json.RawMessage, part bool) {
	key := keyOf(t, list)
	if key == "" {
		return
	}
	old, err := k.files.Load(ctx, key)
	if err != nil {
		old = toolcache.Entry{}
	}
	first := mark(pages, part)
	if bytes.HasPrefix(old.List, first) {
		return
	}
	text := append(first, textOf(list, items)...)
	if part {
		text = appendOthers(text, old.List, list, items)
	}
	sum := sha256.Sum256(text)
	_ = k.files.Save(ctx, key, toolcache.Entry{List: text, Hash: hex.EncodeToString(sum[:]), At: time.Now()})
}

// load returns a list, and whether it is kept.
func (k *kept) load(ctx context.Context, t target.Target, list string) (items []item, found bool) {
	key := keyOf(t, list)
	if key == "" {
		return nil, false
	}
	entry, err := k.files.Load(ctx, key)
	if err != nil || entry.List == nil {
		return nil, false
	}
	for line := range strings.Lines(string(entry.List)) {
		if item, ok := parseItem(line); ok {
			items = append(items, item)
		}
	}
	return items, true
}

// parseItem reads a line of a list.
func parseItem(line string) (item, bool) {
	parts := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
	if len(parts) < 3 {
		return item{}, false
	}
	id, err := doc.Parse([]byte(parts[0]))
	about, err2 := doc.Parse([]byte(parts[1]))
	if err != nil || err2 != nil {
		return item{}, false
	}
	return item{id.Str(), about.Str(), parts[2]}, true
}

// listed is the list of a name.
func listed(name string) listing.List {
	return listing.Lists[slices.IndexFunc(listing.Lists, func(l listing.List) bool { return l.Name == name })]
}

// keyOf names a list of a server and reveals neither: a URL may have a token. It is "" for a
// program that is no entry of a file: that comes after the words that shells complete.
func keyOf(t target.Target, list string) string {
	parts := []string{list, t.URL}
	if t.Entry != nil {
		parts = append(parts, t.Entry.Place)
	}
	if t.Argv != nil && (t.Entry == nil || t.Entry.Place == "") {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append(parts, t.Argv...), "\x00")))
	return hex.EncodeToString(sum[:])
}
