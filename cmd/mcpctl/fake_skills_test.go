package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// fakeSkills are the files that the fake serves in the modes skills…, by URI. Entries are
// made of them, so that they agree.
var fakeSkills = []struct{ uri, content string }{
	{"skill://acme/refunds/SKILL.md", "---\nname: refunds\ndescription: Process refunds\n---\n# Refunds\n\x1b[31mred\n"},
	{"skill://acme/refunds/forms/EU%20form.md", "EU\n"},
	{"skill://acme/refunds/logo.png", "\x89PNG"},
	{"skill://shop/refunds/SKILL.md", "---\nname: refunds\ndescription: Others\n---\n"},
	{"skill://git/SKILL.md", "---\nname: git\ndescription: |\n  Two\n  lines\n---\n"},
	{"skill://hidden/SKILL.md", "---\nname: hidden\ndescription: Not in the list\n---\nHidden.\n"},
	{"skill://live/SKILL.md", "---\nname: live\ndescription: Generated\n---\n"},
}

var fakeSkillTexts = map[string]string{
	"skill://acme/refunds/SKILL.md": `{"name":"refunds","description":"Process refunds"}`,
	"skill://shop/refunds/SKILL.md": `{"name":"refunds","description":"Others"}`,
	"skill://git/SKILL.md":          `{"name":"git","description":"Two\nlines\n"}`,
	"skill://hidden/SKILL.md":       `{"name":"hidden","description":"Not in the list"}`,
	"skill://live/SKILL.md":         `{"name":"live","description":"Generated"}`,
}

// skills is what the fake answers in the modes skills…: as a good server, or with the
// fault that the mode names.
func (f *fake) skills(r fakeRequest, result func(string) []string, failed func(int, string, string) []string) []string {
	if !strings.HasPrefix(f.mode, "skills") {
		return nil
	}
	const complete = `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
	switch r.Method {
	case "server/discover":
		return result(`{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}},` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.0"}}` + complete)
	case "skills/list":
		if f.mode == "skills-circle" {
			return result(`{"skills":[],"nextCursor":"again"` + complete)
		}
		var entries []string
		for _, file := range fakeSkills {
			if fakeSkillTexts[file.uri] != "" && file.uri != "skill://hidden/SKILL.md" {
				entries = append(entries, f.skillEntry(file.uri))
			}
		}
		return result(`{"skills":[` + strings.Join(entries, ",") + `]` + complete)
	case "skills/get":
		if fakeSkillTexts[r.Params.URI] == "" {
			return failed(-32602, "No skill is served there", "null")
		}
		return result(`{"skill":` + f.skillEntry(r.Params.URI) + complete)
	case "resources/read":
		return f.skillFile(r, result, failed, complete)
	}
	return nil
}

func (f *fake) skillEntry(uri string) string {
	resources := `"dynamic"`
	if uri != "skill://live/SKILL.md" {
		var files []string
		for _, file := range fakeSkills {
			if strings.HasPrefix(file.uri, strings.TrimSuffix(uri, "SKILL.md")) {
				files = append(files, fmt.Sprintf(`{"uri":%q,"digest":"sha256:%x","size":%d}`, file.uri, sha256.Sum256([]byte(file.content)), len(file.content)))
			}
		}
		switch f.mode {
		case "skills-escape":
			files = append(files, fmt.Sprintf(`{"uri":%q,"digest":"sha256:%x","size":1}`, strings.TrimSuffix(uri, "SKILL.md")+"../../escaped", sha256.Sum256([]byte("x"))))
		case "skills-clash": // below a file
			files = append(files, fmt.Sprintf(`{"uri":%q,"digest":"sha256:%x","size":3}`, strings.TrimSuffix(uri, "SKILL.md")+"SKILL.md/a", sha256.Sum256([]byte("EU\n"))))
		case "skills-full": // 16 MiB, and so a message of 22
			full := fakeFull(uri)
			files = append(files, fmt.Sprintf(`{"uri":%q,"digest":"sha256:%x","size":%d}`, strings.TrimSuffix(uri, "SKILL.md")+"full", sha256.Sum256(full), len(full)))
		case "skills-huge":
			files = append(files, fmt.Sprintf(`{"uri":%q,"digest":"sha256:%x","size":99999999}`, strings.TrimSuffix(uri, "SKILL.md")+"huge", sha256.Sum256([]byte("x"))))
		}
		resources = "[" + strings.Join(files, ",") + "]"
	}
	return fmt.Sprintf(`{"uri":%q,"frontmatter":%s,"resources":%s,"_meta":{"z":1.0}}`, uri, fakeSkillTexts[uri], resources)
}

// fakeFull is what makes a skill of one file as large as skills may be.
func fakeFull(uri string) []byte {
	size := 16 << 20
	for _, file := range fakeSkills {
		if strings.HasPrefix(file.uri, strings.TrimSuffix(uri, "SKILL.md")) {
			size -= len(file.content)
		}
	}
	return bytes.Repeat([]byte{0xff}, size)
}

func (f *fake) skillFile(r fakeRequest, result func(string) []string, failed func(int, string, string) []string, end string) []string {
	if r.Params.URI == "skill://git/full" {
		return result(fmt.Sprintf(`{"contents":[{"uri":%q,"blob":%q}]`, r.Params.URI, base64.StdEncoding.EncodeToString(fakeFull("skill://git/SKILL.md"))) + end)
	}
	for _, file := range fakeSkills {
		if file.uri != strings.TrimSuffix(r.Params.URI, "/a") {
			continue
		}
		content := file.content
		if f.mode == "skills-changed" {
			content = strings.ToUpper(content)
		}
		if file.uri != r.Params.URI {
			content = "EU\n"
		}
		if !utf8.ValidString(content) {
			return result(fmt.Sprintf(`{"contents":[{"uri":%q,"blob":%q}]`, file.uri, base64.StdEncoding.EncodeToString([]byte(content))) + end)
		}
		text, _ := json.Marshal(content)
		return result(fmt.Sprintf(`{"contents":[{"uri":%q,"text":%s}]`, r.Params.URI, text) + end)
	}
	return failed(-32602, "Unknown resource", "null")
}
