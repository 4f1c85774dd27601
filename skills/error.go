package skills

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Fault is the kind of a problem with a skill.
type Fault string

// The faults.
const (
	// FaultUnsupported: the server does not declare the extension, or not the part of it
	// that was asked for. Nothing was sent.
	FaultUnsupported Fault = "unsupported"
	// FaultNotFound: the server has no skill with this URI.
	FaultNotFound Fault = "not found"
	// FaultList: the list of skills cannot be read, or does not end.
	FaultList Fault = "list"
	// FaultEntry: the entry lacks something that every entry has.
	FaultEntry Fault = "entry"
	// FaultName: the name breaks the rules for names, or differs from the last folder
	// of the URI.
	FaultName Fault = "name"
	// FaultURI: a URI is not that of a SKILL.md, or of a file within the skill.
	FaultURI Fault = "uri"
	// FaultLimit: the skill or the list exceeds one of the [Limits].
	FaultLimit Fault = "limit"
	// FaultDynamic: the entry has no digests, so the content cannot be checked; see
	// [WithDynamic].
	FaultDynamic Fault = "dynamic"
	// FaultUnlisted: the entry lists no such file.
	FaultUnlisted Fault = "unlisted"
	// FaultContent: the answer does not contain the file that was read.
	FaultContent Fault = "content"
	// FaultSize: a size is not valid, or the content has another size than the entry says.
	FaultSize Fault = "size"
	// FaultDigest: a digest is not valid, or the content has another digest than the
	// entry says.
	FaultDigest Fault = "digest"
	// FaultFrontMatter: the front matter of SKILL.md cannot be read, or differs from the
	// entry.
	FaultFrontMatter Fault = "front matter"
)

// Error reports why a skill cannot be used. Content with a fault is never returned.
type Error struct {
	Fault Fault
	// Skill is the URI of the skill, "" where the fault is of a whole list. File is the
	// URI or path of the file, "" where the fault is of the entry. Both are from the
	// server or the caller and may contain any character.
	Skill, File string
	// Detail describes the problem, Help the remedy; one line each.
	Detail, Help string
	// Err is the error of the client, nil if the server answered.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("skill")
	if e.Skill != "" {
		b.WriteString(" " + shown(e.Skill))
	} else {
		b.WriteString("s")
	}
	if e.File != "" && e.File != e.Skill {
		b.WriteString(", file " + shown(e.File))
	}
	b.WriteString(": " + e.Detail)
	if e.Help != "" {
		b.WriteString("; " + e.Help)
	}
	return b.String()
}

// Unwrap returns the error of the client, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// What to do about faults that have several causes.
const (
	helpServer = "report it to the author of the server"
	helpStale  = "get the skill again, because it may have changed"
)

// shown shortens a text of a server and removes control characters.
func shown(s string) string { return jsonrpc.Printable(s, 200) }
