// Package skills serves skills: folders of instructions for an agent, each with a
// SKILL.md (extension io.modelcontextprotocol/skills, SEP-2640), which go-sdk 1.8.0
// does not have. They come from a folder, or are the samples of this package.
//
// A folder that contains a SKILL.md is a skill, and all files below it are its
// files, another SKILL.md included. Its entry names each with size and digest, and
// nothing else can be read: a URI is looked up in the entries and is never made
// into a path. Symbolic links, names that begin with a dot, and what is no regular
// file are not served. The folder is looked at again a second after the last time,
// so that changes show.
//
// A skill that breaks a rule is not served, and the log says why.
package skills
