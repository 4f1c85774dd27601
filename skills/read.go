package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Document is a SKILL.md that agrees with the entry of its skill.
type Document struct {
	// Text is the whole file, Body the part after the front matter.
	Text, Body string
}

// Load reads SKILL.md. Load a skill only when it is used, and after the user has approved
// it.
func (s *Skill) Load(ctx context.Context) (*Document, error) {
	text, err := s.ReadFile(ctx, manifest)
	if err != nil {
		return nil, err
	}
	_, body, err := splitFrontMatter(text, s.set.limits.FrontMatter)
	if err != nil {
		return nil, s.fault(FaultFrontMatter, s.URI, err.Error(), helpStale)
	}
	return &Document{Text: string(text), Body: string(body)}, nil
}

// ReadFile reads a file of the skill by its path, such as "references/FORMS.md", or by
// its URI. The content has the size and digest of the entry, and that of SKILL.md also its
// front matter. ReadFile sends nothing for a file that the entry does not list. The
// content belongs to the caller.
func (s *Skill) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if s.problem != nil {
		return nil, s.problem
	}
	read := s.readListed
	if s.Dynamic {
		read = s.readDynamic
	}
	content, uri, err := read(ctx, name)
	if err != nil || uri != s.URI {
		return content, err
	}
	front, _, err := splitFrontMatter(content, s.set.limits.FrontMatter)
	if err == nil {
		err = sameFrontMatter(front, s.FrontMatter)
	}
	if err != nil {
		return nil, s.fault(FaultFrontMatter, uri, err.Error(), helpStale)
	}
	return content, nil
}

// readListed reads a file whose size and digest the entry has.
func (s *Skill) readListed(ctx context.Context, name string) (content []byte, uri string, err error) {
	clean := path.Clean(name) // ./references/../SKILL.md is SKILL.md
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.URI == name || f.Path == clean })
	if i < 0 {
		return nil, "", s.fault(FaultUnlisted, name, "the entry does not list the file", helpStale)
	}
	f := s.Files[i]
	content, err = s.read(ctx, f.URI)
	if err != nil {
		return nil, "", err
	}
	if n := int64(len(content)); n != f.Size {
		return nil, "", s.fault(FaultSize, f.URI, fmt.Sprintf("the content has %d bytes, the entry says %d", n, f.Size), helpStale)
	}
	if sum := sha256.Sum256(content); "sha256:"+hex.EncodeToString(sum[:]) != f.Digest {
		return nil, "", s.fault(FaultDigest, f.URI, "the content has another digest than the entry says", helpStale)
	}
	return content, f.URI, nil
}

// readDynamic reads a file of a skill without digests, as long as the skill stays within
// the limit of its size.
func (s *Skill) readDynamic(ctx context.Context, name string) (content []byte, uri string, err error) {
	uri, err = s.resolve(name)
	if err != nil {
		return nil, "", err
	}
	limit := s.set.limits.Bytes
	if over(s.taken.Load(), limit) {
		return nil, "", s.tooMuch(uri)
	}
	content, err = s.read(ctx, uri)
	if err == nil && over(s.taken.Add(int64(len(content))), limit) {
		return nil, "", s.tooMuch(uri)
	}
	return content, uri, err
}

// resolve returns the URI of a file or folder below that of the skill. name is its path,
// or the URI itself.
func (s *Skill) resolve(name string) (string, error) {
	if _, ok := within(s.root, name); ok {
		return name, nil
	}
	segments := strings.Split(path.Clean(name), "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	uri := s.root + "/" + strings.Join(segments, "/")
	if _, ok := within(s.root, uri); !ok {
		return "", s.fault(FaultURI, name, "this is not a path below the folder of the skill", "give a path relative to that folder")
	}
	return uri, nil
}

func (s *Skill) tooMuch(uri string) error {
	return s.fault(FaultLimit, uri, "more than "+jsonrpc.Size(int(s.set.limits.Bytes))+" of the skill have been read", "raise the limit to read more")
}

// read reads one resource of the server that the skill is from, unchecked.
func (s *Skill) read(ctx context.Context, uri string) ([]byte, error) {
	res, err := s.server.ReadResource(ctx, uri, s.set.call...)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(res.Contents, func(part mcp.ResourceContents) bool { return part.URI == uri })
	if i < 0 || (res.Contents[i].Text == nil && res.Contents[i].Blob == nil) {
		return nil, s.fault(FaultContent, uri, "the answer does not contain the file", helpServer)
	}
	content, err := res.Contents[i].Bytes()
	if err != nil {
		return nil, s.fault(FaultContent, uri, "the content is not valid base64", helpServer)
	}
	return content, nil
}

// ReadDir returns the files and folders directly in a folder of the skill, as the server
// sees it now; "" or "." is the folder of the skill. Folders have the MIME type
// inode/directory. It sends nothing if the server does not declare the setting
// directoryRead.
//
// The list never makes a file readable: a file that is not in [Skill.Files] stays
// unreadable until [Get] returns a new entry and the user approves it. Do not show it as a
// file of the skill. To learn what a folder contains, Files is enough, unless the skill is
// dynamic.
func (s *Skill) ReadDir(ctx context.Context, name string) ([]mcp.Resource, error) {
	if s.problem != nil {
		return nil, s.problem
	}
	if v, _ := settings(s.server); !v.Get("directoryRead").True() {
		return nil, s.fault(FaultUnsupported, name, "the server does not declare that it reads folders", "use the list of files of the entry")
	}
	uri := s.root
	if name != s.root && path.Clean(name) != "." {
		var err error
		if uri, err = s.resolve(name); err != nil {
			return nil, err
		}
	}
	var all []mcp.Resource
	err := pages(ctx, s.server, s.set, methodDirectory, about(uri), "resources", func(_ *doc.Value, items []*doc.Value) error {
		if over(len(all)+len(items), s.set.limits.Files) {
			return s.fault(FaultLimit, uri, fmt.Sprintf("the folder has more than %d files", s.set.limits.Files), "raise the limit to list them")
		}
		for _, item := range items {
			var r mcp.Resource
			if err := jsonrpc.Unmarshal(item.AppendJSON(nil), &r); err != nil {
				return s.fault(FaultList, uri, "an item of the folder is not a resource", helpServer)
			}
			if rest, below := within(uri, r.URI); !below || strings.Contains(rest, "/") {
				return s.fault(FaultURI, r.URI, "the server lists it in a folder where it is not", helpServer)
			}
			all = append(all, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
