package front

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// bodyTimeout bounds the arrival of a body.
const bodyTimeout = time.Minute

// arrive reads the body of r into memory, up to one byte more than most, before
// r counts as running: a request that is not here yet has nothing to be finished.
// What went wrong the one who reads the body finds out again.
func arrive(w http.ResponseWriter, r *http.Request, most int) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	// A peer that sends a byte now and then would hold the connection for ever.
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTimeout)) // where it is not supported nothing is lost
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	here, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = failing{err}
	}
	r.Body = body{io.MultiReader(bytes.NewReader(here), rest), r.Body}
}

type body struct {
	io.Reader
	io.Closer
}

// failing is the rest of a body that did not arrive.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
