package explain

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// demanded says in the words of the flags that the server does not speak the era which
// they demand, or may not speak it.
func (x *Explainer) demanded(f *failure.Failure, e *mcperrors.Error) {
	const option = "WithProtocolVersion"
	before, proof, found := strings.Cut(e.Message, option+" demands ")
	if !found {
		return
	}
	f.Try = append(f.Try, "--era auto")
	if before == "" {
		proof, _, _ = strings.Cut(proof, "; change "+option)
		proof, _, _ = strings.Cut(proof, "; tried ")
		f.Message = x.Flags.Pin() + " demands " + x.Secrets.Safe(proof)
		return
	}
	f.Message, _, _ = strings.Cut(f.Message, "; "+option+" demands ")
	version := mcp.Version(x.Flags.Pinned())
	other := mcp.EraSession
	if version.Era() == mcp.EraSession {
		other = mcp.EraStateless
	}
	const nowhere = "there is no MCP endpoint "
	if at, ok := strings.CutPrefix(f.Message, nowhere); ok {
		f.Message = fmt.Sprintf("%sfor the %s era %s", nowhere, version.Era(), at)
	}
	f.AddNote(fmt.Sprintf("%s demands revision %s, of the %s era; the server may speak only the %s era", x.Flags.Pin(), version, version.Era(), other))
}
