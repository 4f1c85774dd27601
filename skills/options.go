package skills

import "github.com/mainstay-mcp/mainstay/client"

// Limits limit the memory that one server can make a program use. Zero means the default, a
// negative number no limit.
type Limits struct {
	// Files is the number of files of a skill, and Bytes the sum of their sizes. The
	// defaults are 512 and 16 MiB: every host has to accept that much, and no server
	// should offer more. The client's limit of a message also applies to each file; see
	// transport.Limits.
	Files int
	Bytes int64
	// Skills is the number of skills in a list. The default is 10,000.
	Skills int
	// FrontMatter is the size of the front matter of a SKILL.md in bytes. The default is
	// 64 KiB.
	FrontMatter int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Files: orDefault(l.Files, 512), Bytes: orDefault(l.Bytes, 16<<20),
		Skills: orDefault(l.Skills, 10_000), FrontMatter: orDefault(l.FrontMatter, 64<<10),
	}
}

func orDefault[N int | int64](n, standard N) N {
	if n == 0 {
		return standard
	}
	return n
}

// over reports whether n exceeds a limit.
func over[N int | int64](n, limit N) bool { return limit >= 0 && n > limit }

// Option changes how skills are found and read.
type Option func(*config)

type config struct {
	limits  Limits
	label   string
	dynamic bool
	call    []client.CallOption
}

func newConfig(c *client.Client, opts []Option) *config {
	set := &config{}
	for _, opt := range opts {
		opt(set)
	}
	set.limits = set.limits.withDefaults()
	if set.label == "" {
		set.label = c.Health().Server
	}
	return set
}

// WithLimits sets the limits. The default is the zero [Limits].
func WithLimits(l Limits) Option { return func(c *config) { c.limits = l } }

// WithLabel sets the program's own name of the server, the first half of [Skill.ID]. Do
// not use the name that the server gives itself: any server can use any name. The default
// is the name of the server; see [client.WithName].
func WithLabel(label string) Option { return func(c *config) { c.label = label } }

// WithDynamic allows loading skills that have no digests, because the server generates
// their content. By default they are listed, but loading one fails. Their front matter is
// compared, and [Limits].Bytes bounds what is read of one in total. Nothing else about
// them can be checked, and they have no fingerprint.
func WithDynamic() Option { return func(c *config) { c.dynamic = true } }

// WithCallOptions sets options for every request, such as [client.WithTimeouts].
func WithCallOptions(opts ...client.CallOption) Option {
	return func(c *config) { c.call = append(c.call, opts...) }
}
