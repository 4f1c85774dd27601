package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// result prints the result of a tool. An error of the tool is printed like any
// other result; the exit status and a line on stderr report it.
func (a *app) result(c *connect.Connection, tool *doc.Value, raw json.RawMessage, save string, strict bool) error {
	result, err := doc.Parse(raw)
	if err != nil || result.Kind() != doc.Object {
		f := c.Broken("the result of the call is not a JSON object")
		f.Note = failure.NoteRan
		return f
	}
	unfit := outputMisfit(tool, result)
	if !strict {
		a.warn(unfit) // before the result, as everything that comes with it
	}
	// The result is shown even if it cannot be saved: the call has run.
	saved, unsaved := a.save(tool.Get("name").Str(), result, save)
	switch a.console.Format {
	case console.JSON:
		err = a.console.PrintJSON(withoutSaved(raw, result, saved))
	case console.NDJSON:
		err = a.console.PrintEvent("result", withoutSaved(raw, result, saved))
	case console.Raw:
		err = a.console.PrintRaw(raw)
	default:
		err = a.console.Print(resultText(result, saved))
	}
	switch {
	case err != nil:
		return err
	case unsaved != nil:
		f := failure.New(failure.KindOutput, mcperrors.Answered, "the result could not be saved: %v", unsaved)
		f.Note = failure.NoteRepeat
		return f
	case strict && unfit.reason != "":
		f := c.Broken("%s", unfit.reason)
		f.Findings, f.Note = unfit.places, failure.NoteRan
		return f
	case result.Get("isError").True():
		return failure.New(failure.KindNegative, mcperrors.Answered, "the tool %s reported an error", tool.Get("name").Str())
	}
	return nil
}

// resultText is a result for people: text as text, structured content as JSON
// when there is no text, everything else as a short line.
func resultText(result *doc.Value, saved []string) string {
	var b strings.Builder
	texts := 0
	for i, block := range result.Get("content").Items() {
		line := blockText(block)
		if block.Get("type").Str() == "text" {
			texts++
		} else if i < len(saved) && saved[i] != "" {
			line = strings.TrimSuffix(line, "]") + " → " + visible.Line(saved[i]) + "]"
		}
		b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
	if structured := result.Get("structuredContent"); structured != nil && texts == 0 {
		b.WriteString(visible.Text(string(console.Indent(structured.AppendJSON(nil)))) + "\n")
	}
	return b.String()
}

// blockText is a content block for people.
func blockText(block *doc.Value) string {
	kind := block.Get("type").Str()
	if kind == "text" {
		return visible.Text(block.Get("text").Str())
	}
	return blockLine(kind, block)
}

// blockLine is one line for a content block that is not text.
func blockLine(kind string, block *doc.Value) string {
	switch kind {
	case "image", "audio":
		return visible.Line(fmt.Sprintf("[%s %s]", cmp.Or(block.Get("mimeType").Str(), kind), size(decodedSize(block.Get("data").Str()))))
	case "resource_link":
		return visible.Line(strings.TrimSpace("[link " + block.Get("uri").Str() + " " + block.Get("name").Str() + "]"))
	case "resource":
		inner := block.Get("resource")
		if text := inner.Get("text"); text.Kind() == doc.String {
			return visible.Line("["+inner.Get("uri").Str()+"]") + "\n" + visible.Text(text.Str())
		}
		return visible.Line(fmt.Sprintf("[%s %s %s]", inner.Get("uri").Str(), cmp.Or(inner.Get("mimeType").Str(), "data"), size(decodedSize(inner.Get("blob").Str()))))
	}
	return visible.Line(fmt.Sprintf("[%s %s]", cmp.Or(kind, "content"), visible.Cut(block.String(), 200)))
}

// decodedSize is the number of bytes in a base64 text.
func decodedSize(text string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "=")))
}

func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// checkFolder creates the folder of --save and tries to write to it before anything
// is sent, because a call cannot be undone.
func checkFolder(folder string) error {
	err := os.MkdirAll(folder, 0o755)
	var trial *os.File
	if err == nil {
		trial, err = os.CreateTemp(folder, ".mcpctl-*")
	}
	if err != nil {
		f := failure.Usage("--save: cannot write to %s: %s", folder, failure.RootCause(err))
		f.Note = failure.NoteNothingSent
		return f
	}
	_ = trial.Close()
	_ = os.Remove(trial.Name())
	return nil
}

// save writes the blocks that hold bytes into a folder. It returns a path for each
// block, "" for those without bytes. It tries every block and returns the first
// error.
func (a *app) save(tool string, result *doc.Value, folder string) (paths []string, failed error) {
	if folder == "" {
		return nil, nil
	}
	blocks := result.Get("content").Items()
	paths = make([]string, len(blocks))
	number := 0
	for i, block := range blocks {
		data, media := block.Get("data").Str(), block.Get("mimeType").Str()
		if inner := block.Get("resource"); inner != nil {
			data, media = inner.Get("blob").Str(), inner.Get("mimeType").Str()
		}
		if data == "" {
			continue
		}
		bytes, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			a.console.Warn("block %d of the result was not saved: its data is not base64", i+1)
			continue
		}
		var path string
		for err = fs.ErrExist; errors.Is(err, fs.ErrExist); { // what is there stays
			number++
			path = filepath.Join(folder, fmt.Sprintf("%s-%d%s", fileName(tool), number, extension(media)))
			err = writeFile(path, bytes)
		}
		if err != nil {
			if failed == nil {
				failed = err
			}
			continue
		}
		paths[i] = path
		if a.console.Format != console.Human && !a.console.Quiet {
			a.console.Note("saved " + path)
		}
	}
	return paths, failed
}

// withoutSaved returns a result in which the paths of saved blocks are in the place of their data.
func withoutSaved(raw json.RawMessage, result *doc.Value, saved []string) json.RawMessage {
	changed := false
	for i, block := range result.Get("content").Items() {
		if i >= len(saved) || saved[i] == "" {
			continue
		}
		holder, name := block, "data"
		if inner := block.Get("resource"); inner != nil {
			holder, name = inner, "blob"
		}
		holder.Delete(name)
		holder.Set("savedTo", doc.Text(saved[i]))
		holder.Touch()
		block.Touch()
		changed = true
	}
	if !changed {
		return raw // byte for byte
	}
	result.Get("content").Touch()
	result.Touch()
	return result.AppendJSON(nil)
}

// fileName turns the name of a tool, which the server chose, into a safe file
// name.
func fileName(tool string) string {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, tool)
	return cmp.Or(visible.Cut(name, 80), "result")
}

// extension is the usual ending for a media type. The common ones are here
// because the system's table differs from machine to machine.
func extension(media string) string {
	kind, _, err := mime.ParseMediaType(media)
	if err != nil {
		return ".bin"
	}
	for known, ending := range map[string]string{
		"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
		"audio/wav": ".wav", "audio/mpeg": ".mp3", "application/pdf": ".pdf", "application/json": ".json", "text/plain": ".txt",
		"application/gzip": ".gz", "application/zip": ".zip",
	} {
		if kind == known {
			return ending
		}
	}
	return ".bin"
}

// misfit is why a result does not fit the output schema of its tool. The zero misfit is
// that of a result that fits, or that nothing can judge.
type misfit struct {
	reason string
	places []schema.Finding
}

// outputMisfit judges a result. What a tool reports as its error is not judged.
func outputMisfit(tool, result *doc.Value) misfit {
	declared, structured := tool.Get("outputSchema"), result.Get("structuredContent")
	if declared == nil || result.Get("isError").True() {
		return misfit{}
	}
	if structured == nil {
		return misfit{reason: "the tool declares an output schema, but returned no structured content"}
	}
	judge, err := schema.NewJudge(declared)
	if err != nil {
		return misfit{} // the schema cannot be evaluated
	}
	if places := judge.Findings(structured); len(places) > 0 {
		return misfit{"the result does not fit the tool's output schema", places}
	}
	return misfit{}
}

// warn warns of a misfit, with a line for each place.
func (a *app) warn(m misfit) {
	if m.reason != "" && len(m.places) == 0 {
		a.console.Warn("%s", m.reason)
	}
	for _, f := range m.places {
		a.console.Warn("%s: %s %s", m.reason, failure.Pointer(f), f.Message)
	}
}
