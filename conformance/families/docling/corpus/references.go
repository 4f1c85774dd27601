package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// readers are the reference programs of each format.
var readers = map[string][]string{
	"pdf":  {"pdftotext"},
	"docx": {"pandoc", "docx2txt", parts},
	"xlsx": {"pandoc", "sheetjs", parts},
	"pptx": {"pandoc", "officeparser", parts},
}

// parts are the texts of an office file that the programs do not open, such as text boxes
// of sheets. They are no reading of the whole file: only precision looks at them.
const parts = "parts"

// References are the texts that other programs read from the corpus. They are kept in
// Texts, so that each file is read once.
type References struct {
	Files string // folder of the documents, named by their SHA-256
	Texts string // folder of the texts
	Node  string // the program
	// Script is references.mjs, in the folder that has its packages.
	Script string
}

// File is the path of a document.
func (r *References) File(d *Document) string {
	return filepath.Join(r.Files, d.SHA256+"."+d.Format)
}

func (r *References) text(d *Document, program string) string {
	return filepath.Join(r.Texts, d.SHA256+"."+program+".txt")
}

// A job is a text that is not there yet, for references.mjs.
type job struct {
	Program string `json:"program"`
	Format  string `json:"format"`
	In      string `json:"in"`
	Out     string `json:"out"`
}

// Prepare has the programs read what they have not read yet.
func (r *References) Prepare(ctx context.Context, docs []Document) error {
	var script bytes.Buffer
	jobs := json.NewEncoder(&script)
	for i := range docs {
		d := &docs[i]
		for _, program := range readers[d.Format] {
			j := job{program, d.Format, r.File(d), r.text(d, program)}
			if exists(j.Out) || exists(j.Out+".refused") {
				continue
			}
			var err error
			switch program {
			case "pdftotext":
				err = run(ctx, j, "pdftotext", "-enc", "UTF-8", "-nopgbrk", j.In, "-")
			case "docx2txt":
				err = run(ctx, j, "docx2txt", j.In, "-")
			default:
				err = jobs.Encode(j)
			}
			if err != nil {
				return err
			}
		}
	}
	if script.Len() == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, r.Node, r.Script)
	cmd.Stdin = &script
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("references.mjs: %w: %s", err, out)
	}
	return nil
}

// run writes what a program prints to j.Out; a program that fails has refused the file.
func run(ctx context.Context, j job, argv ...string) error {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return os.WriteFile(j.Out+".refused", complaint.Bytes(), 0o600)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(j.Out, out.Bytes(), 0o600)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Of returns the texts of d by program, without the programs that refused it.
func (r *References) Of(d *Document) (map[string]string, error) {
	texts := map[string]string{}
	for _, program := range readers[d.Format] {
		text, err := os.ReadFile(r.text(d, program))
		if errors.Is(err, fs.ErrNotExist) && exists(r.text(d, program)+".refused") {
			continue
		}
		if err != nil {
			return nil, err
		}
		texts[program] = string(text)
	}
	return texts, nil
}
