// Package skills finds and loads the skills that a server offers: folders of
// instructions for an agent, each with a SKILL.md (extension
// io.modelcontextprotocol/skills, SEP-2640).
//
// [List] and [Get] return entries. An entry has the name, the description and the
// digests of all files, and reading it fetches no file. [Skill.Load] reads SKILL.md,
// [Skill.ReadFile] another file. Both return content only after its size, its SHA-256
// digest and, for SKILL.md, its front matter agree with the entry. A file that the entry
// does not list cannot be read.
//
//	all, err := skills.List(ctx, c)
//	…
//	doc, err := all[0].Load(ctx)                              // SKILL.md, checked
//	form, err := all[0].ReadFile(ctx, "references/FORMS.md")  // when the model wants it
//
// # What the program has to do
//
// A digest shows that the content is what the entry describes. It does not show that
// either can be trusted: both come from the server. Treat a skill as text of a stranger.
//
//   - Ask the user before a skill is loaded. Bind a remembered approval to
//     [Skill.Fingerprint], and ask again when it differs.
//   - Tell the model which server the text is from. Identify a skill by [Skill.ID], never
//     by its name or URI alone: servers may use the same ones.
//   - Do not run what a skill contains, and do not follow its allowed-tools, without the
//     user's explicit approval. This package does neither.
//   - A SKILL.md in a subfolder is a file like any other. To load it as a skill, call
//     [Get] with its URI and ask the user again.
//
// All errors of this package are an [*Error]; errors of the client pass through
// unchanged.
package skills
