package preflights

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/preflights/repo"
)

// place says which repository a call is about.
type place struct {
	workDir, dataDir string
}

const hintRepository = "Run from a git repository or provide repo_path"

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
	return find(given, "No git repository found at repo_path", hintPath)
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
