package explain

import (
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/skills"
)

// skill explains why a skill cannot be used. Most faults are those of the server.
func skill(e *skills.Error) *failure.Failure {
	var kind failure.Kind
	delivery := mcperrors.Answered
	switch e.Fault {
	case skills.FaultUnsupported:
		kind, delivery = failure.KindNotFound, mcperrors.NotSent
	case skills.FaultNotFound, skills.FaultUnlisted:
		kind = failure.KindNotFound
	case skills.FaultLimit, skills.FaultDynamic:
		kind = failure.KindNegative
	default:
		kind = failure.KindProtocol
	}
	f := failure.New(kind, delivery, "%s", visible.Line(e.Detail))
	if e.Skill != "" {
		f.Add("skill", "%s", visible.Cut(e.Skill, 200))
	}
	if e.File != "" && e.File != e.Skill {
		f.Add("file", "%s", visible.Cut(e.File, 200))
	}
	switch e.Fault {
	case skills.FaultLimit:
		f.Note = "mcpctl takes at most 512 files and 16 MiB of a skill, and 10,000 skills"
	case skills.FaultUnlisted:
		f.Note = "skill show, without a file, lists the files of a skill"
	case skills.FaultDynamic:
		f.Try = append(f.Try, "mcpctl skill show --dynamic")
	default:
		f.Note = e.Help
	}
	return f
}
