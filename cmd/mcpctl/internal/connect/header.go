package connect

import (
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// Header returns the headers of a file of servers, and those of -H and --user-agent,
// which win.
func (d *Dialer) Header(t target.Target) (http.Header, error) {
	header, err := d.typedHeader()
	if err != nil || t.Entry == nil {
		return header, err
	}
	typed := header.Clone()
	for _, pair := range t.Entry.Header {
		if name := http.CanonicalHeaderKey(pair[0]); typed[name] == nil && !ownHeader[name] {
			header.Add(name, pair[1])
		}
	}
	return header, nil
}

// ownHeader are headers that the protocol sets, although files repeat them.
var ownHeader = map[string]bool{"Accept": true, "Content-Type": true, "Content-Length": true}

// typedHeader returns the headers of -H and --user-agent.
func (d *Dialer) typedHeader() (http.Header, error) {
	header := http.Header{}
	if d.Flags.UserAgent != "" {
		header.Set("User-Agent", d.Flags.UserAgent)
	}
	for _, h := range d.Flags.Headers {
		lines := []string{h}
		if name, isFile := strings.CutPrefix(h, "@"); isFile {
			data, err := operand.ReadText(name)
			if err != nil {
				return nil, failure.Usage("-H: the file cannot be read: %s", failure.RootCause(err))
			}
			lines = strings.Split(string(data), "\n")
		}
		for _, line := range lines {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if err := d.addHeader(header, line); err != nil {
				return nil, err
			}
		}
	}
	return header, nil
}

// headerName is a token of RFC 9110 section 5.6.2.
var headerName = lazyregexp.New("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

var variable = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// addHeader reads 'K: V'. Errors never show the value, which may be a secret, nor anything
// of what is no header.
func (d *Dialer) addHeader(header http.Header, line string) error {
	name, value, found := strings.Cut(line, ":")
	name = strings.TrimSpace(name)
	if !found || !headerName.MatchString(name) {
		return failure.Usage("-H: write a header as 'Name: value'")
	}
	missing := ""
	value = variable.ReplaceAllStringFunc(strings.TrimSpace(value), func(ref string) string {
		text, ok := d.Console.Env(ref[2 : len(ref)-1])
		if !ok {
			missing = ref[2 : len(ref)-1]
		}
		return text
	})
	if missing != "" {
		return failure.Usage("-H %s: the environment variable %s is not set", name, missing)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }) {
		return failure.Usage("-H %s: the value has characters that are not allowed in a header", name)
	}
	if mcperrors.SecretName(name) {
		d.Secrets.Keep(name, value)
		if _, credentials, found := strings.Cut(value, " "); found {
			d.Secrets.Keep(name, credentials) // a server may repeat them without the scheme
		}
	}
	header.Add(name, value)
	return nil
}
