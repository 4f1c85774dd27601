package front

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// bodyTimeout bounds the arrival of a body.
const bodyTimeout = time.Minute

// hasten bounds the time in which the body of r has to arrive: a peer that sends a
// part of it, or a byte now and then, would hold the connection forever. That holds
// for requests that are refused, too, because net/http reads what is left of a body
// before it sends the answer.
func hasten(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		// Where it is not supported there is no connection to hold.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
}

// arrive reads the body of r into memory, up to one byte more than most, before
// r counts as running: a request that is not here yet has nothing to be finished.
// Then it takes back the bound of [hasten], unless a part of the body is still to come.
// The reader of the body gets its error.
func arrive(w http.ResponseWriter, r *http.Request, most int) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	here, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	rest := io.Reader(r.Body)
	switch {
	case err != nil:
		rest = failing{err}
	case len(here) <= most:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
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
