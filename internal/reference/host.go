package reference

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// module is the folder of the reference server's module, below the root of the
// checkout.
const module = "conformance/families"

// host is the running program.
type host struct{ address string }

// hosted starts the host once per process. It ends when its input is closed: after the tests, at
// the latest with this process.
var hosted = sync.OnceValues(func() (*host, error) {
	dir, err := find()
	if err != nil {
		return nil, err
	}
	args := []string{"run", "-buildvcs=false"} // with the commit in it, each commit would link it
	if testmain.Race {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./internal/host")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1", "PWD="+dir)
	cmd.Stderr = os.Stderr // a file, so os/exec needs no goroutine
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	at, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the host of the reference servers did not start (its modules are needed, see go env GOPROXY): %w", errors.Join(err, cmd.Wait()))
	}
	testmain.AtEnd(func() {
		_ = in.Close() // an error means that it has ended
		_ = cmd.Wait()
	})
	return &host{strings.TrimSpace(at)}, nil
})

// find returns the folder of the reference server's module. It calls Stat for each of its files,
// so that go test can detect stale cached results.
func find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		server := filepath.Join(dir, filepath.FromSlash(module))
		if _, err := os.Stat(filepath.Join(server, "internal", "host", "main.go")); err == nil {
			return server, filepath.WalkDir(server, func(path string, _ fs.DirEntry, err error) error {
				if err == nil {
					_, err = os.Stat(path)
				}
				return err
			})
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no folder above has " + module + ": tests with the reference server need the whole repository")
		}
		dir = above
	}
}
