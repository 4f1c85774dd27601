package preflights

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/repo"
)

// place says which repository a call is about.
type place struct {
	workDir, dataDir string
	temporary        bool // dataDir is
	confined         bool
	allowed          []string // without links
}

const hintRepository = "Run from a git repository or provide repo_path"

// allow lets a confined caller name the repositories below dir.
func (p *place) allow(dir string) error {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return fmt.Errorf("folder of repositories: %w", err)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return fmt.Errorf("folder of repositories: %s is not a folder", dir)
	}
	p.allowed = append(p.allowed, abs)
	return nil
}

// root returns the root of the repository that a call with the given repo_path
// is about; empty is none given. An absolute path is one the caller named, and
// the search goes up from there. A relative one stays below the place where the
// server works: "../" is no way out of it (X-SEC-01).
func (p place) root(given string) (string, error) {
	if given == "" {
		base, err := p.base()
		if err != nil {
			return "", err
		}
		return find(base, "No git repository found", hintRepository)
	}
	if !filepath.IsAbs(given) {
		if !filepath.IsLocal(given) {
			return "", failure(codeRepoNotFound, "repo_path leads out of the server's working directory", hintPath, nil)
		}
		base, err := p.base()
		if err != nil {
			return "", err
		}
		given = filepath.Join(base, given)
	}
	if p.confined && !p.permits(given) {
		// Also where nothing is: what exists elsewhere is nobody's business.
		return "", failure(codeRepoNotFound, "repo_path is in no folder that clients of this server may use", hintConfined, nil)
	}
	root, err := find(given, textNoRepository, hintPath)
	if err == nil && p.confined && !p.permits(root) { // it is around the folder that they may use
		return "", failure(codeRepoNotFound, textNoRepository, hintConfined, nil)
	}
	return root, err
}

const (
	textNoRepository = "No git repository found at repo_path"
	hintConfined     = "Leave repo_path out, or have the server started with --repos DIR, a folder around the repository"
)

// permits reports whether a confined caller may name dir.
func (p place) permits(dir string) bool {
	if strings.ContainsRune(dir, 0) {
		return false
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	allowed := p.allowed
	if own, err := p.root(""); err == nil {
		allowed = append(slices.Clone(allowed), own)
	}
	return slices.ContainsFunc(allowed, func(folder string) bool {
		rel, err := filepath.Rel(folder, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

// own reports whether root is the repository that the server made for itself.
func (p place) own(root string) bool {
	if p.workDir != "" {
		return false
	}
	made, err := p.root("")
	return err == nil && made == root
}

const hintPath = "Check repo_path: it must be a folder in a git repository"

// base returns the directory in which a call without repo_path works.
func (p place) base() (string, error) {
	if p.workDir != "" {
		abs, err := filepath.Abs(p.workDir)
		if err != nil {
			return "", fileFailure(err)
		}
		return abs, nil
	}
	if p.dataDir == "" {
		return "", failure(codeRepoNotFound, "No git repository found", hintRepository, nil)
	}
	own, err := filepath.Abs(filepath.Join(p.dataDir, "repository"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(own, ".git"), 0o755)
	}
	if err != nil {
		return "", fileFailure(err)
	}
	return own, nil
}

func find(dir, text, hint string) (string, error) {
	root, err := repo.Find(dir)
	switch {
	case errors.Is(err, repo.ErrPath) && text != "No git repository found":
		return "", failure(codeRepoNotFound, "repo_path is not a directory", hint, nil)
	case err != nil:
		return "", failure(codeRepoNotFound, text, hint, nil)
	}
	return root, nil
}
