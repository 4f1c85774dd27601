package skills

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// The methods of the extension.
const (
	methodList      = "skills/list"
	methodGet       = "skills/get"
	methodDirectory = "resources/directory/read"
)

// pageSize is how many skills are on a page. A folder is one page: a skill has few
// files.
const pageSize = 100

// ttl is how long an answer stays true, in milliseconds: as long as nobody looks at
// the folder again.
const ttl = 1000

// params are those of all three methods.
type params struct {
	mcp.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor"`
}

// result is what the results have in common.
type result struct {
	mcp.ResultBase
	mcp.Cacheable
	ResultType string `json:"resultType,omitempty"`
}

type listResult struct {
	result
	Skills     []entry `json:"skills"`
	NextCursor string  `json:"nextCursor,omitempty"`
}

type getResult struct {
	result
	Skill entry `json:"skill"`
}

type directoryResult struct {
	result
	Resources []*mcp.Resource `json:"resources"`
}

// entry is a skill as it is listed.
type entry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   []listed        `json:"resources"`
}

type listed struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

func (k *skill) entry() entry {
	e := entry{URI: k.uri, Frontmatter: k.front}
	for _, f := range k.files {
		e.Resources = append(e.Resources, listed{f.uri, f.digest, f.size})
	}
	return e
}

// register adds the methods to a server, and the files to its resources.
func (s *server) register(server *mcp.Server) {
	server.AddReceivingMiddleware(s.listed)
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "skill-file", Description: "A file of a skill, by the URI that the list of skills has for it.", URITemplate: scheme + "{+path}",
	}, s.read)
	must(mcp.AddReceivingCustomMethod(server, methodList, s.list))
	must(mcp.AddReceivingCustomMethod(server, methodGet, s.get))
	must(mcp.AddReceivingCustomMethod(server, methodDirectory, s.directory))
}

// must stops a program whose go-sdk serves one of the methods itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// result begins a result. resultType is of the stateless era.
func (s *server) result(session *mcp.ServerSession) result {
	r := result{Cacheable: mcp.Cacheable{TTLMs: ttl, CacheScope: "public"}}
	if s.private {
		r.CacheScope = "private"
	}
	if p := session.InitializeParams(); p != nil && p.ProtocolVersion >= "2026-07-28" {
		r.ResultType = "complete"
	}
	return r
}

func (s *server) list(_ context.Context, session *mcp.ServerSession, p *params) (*listResult, error) {
	after := ""
	if p != nil && p.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		if err != nil || !strings.HasPrefix(string(raw), scheme) {
			return nil, invalid("cursor", "the cursor is not one of this server")
		}
		after = string(raw)
	}
	out := &listResult{result: s.result(session), Skills: []entry{}}
	page := s.library.current().after(after)
	if len(page) > pageSize {
		page = page[:pageSize]
		out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(page[pageSize-1].uri))
	}
	for _, k := range page {
		out.Skills = append(out.Skills, k.entry())
	}
	return out, nil
}

func (s *server) get(_ context.Context, session *mcp.ServerSession, p *params) (*getResult, error) {
	if p == nil {
		return nil, invalid("uri", "uri is required")
	}
	k := s.library.current().byURI[p.URI]
	if k == nil {
		return nil, invalid("uri", "no skill is served there")
	}
	return &getResult{result: s.result(session), Skill: k.entry()}, nil
}

func (s *server) directory(_ context.Context, session *mcp.ServerSession, p *params) (*directoryResult, error) {
	switch {
	case p == nil:
		return nil, invalid("uri", "uri is required")
	case p.Cursor != "":
		return nil, invalid("cursor", "the cursor is not one of this server")
	}
	in, ok := s.library.current().folders[strings.TrimSuffix(p.URI, "/")]
	if !ok {
		return nil, invalid("uri", "it is not the folder of a skill, and not one below it")
	}
	return &directoryResult{result: s.result(session), Resources: in}, nil
}

func invalid(field, text string) *jsonrpc.Error {
	return family.Invalid(field, field, "%s", text).Wire(Name)
}

// listed adds each SKILL.md to the end of the list of resources. Clients learn of
// the other files from the entry of the skill.
func (s *server) listed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListResourcesResult); ok && err == nil && list.NextCursor == "" {
			for _, k := range s.library.current().skills {
				list.Resources = append(list.Resources, k.manifest())
			}
		}
		return res, err
	}
}

// read returns a file of a skill.
func (s *server) read(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	f := s.library.current().files[req.Params.URI]
	if f == nil {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	content, err := s.library.read(f.path)
	if err != nil { // it has gone since
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	part := &mcp.ResourceContents{URI: f.uri, MIMEType: mimeType(f.path)}
	if utf8.Valid(content) && len(content) > 0 {
		part.Text = string(content)
	} else { // go-sdk leaves out an empty text
		part.Blob = append([]byte{}, content...)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{part}}, nil
}
