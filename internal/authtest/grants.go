package authtest

import (
	"net/http"
	"net/url"
	"strconv"
)

// grants has the pushed requests and the logins on another device of the authorization server.
type grants struct {
	pushed  map[string]url.Values // authorization requests, by request_uri
	devices map[string]*device    // by device code
}

// device is a login on another device.
type device struct {
	userCode string
	scope    string
	agreed   bool
}

// Announce adds the endpoint of pushed requests or of logins on another device to the metadata.
func (w *World) Announce(name string) {
	path := map[string]string{"pushed_authorization_request_endpoint": "/par", "device_authorization_endpoint": "/device_authorization"}[name]
	w.Metadata[name] = w.AS.URL + path
}

// push is the endpoint for pushed authorization requests (RFC 9126).
func (w *World) push(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	w.asked = append(w.asked, "push")
	if r.PostForm.Has("request_uri") || r.PostForm.Get("response_type") != "code" {
		answer(rw, 400, map[string]any{"error": "invalid_request"})
		return
	}
	name := "urn:ietf:params:oauth:request_uri:" + w.next("request")
	w.pushed[name] = r.PostForm
	answer(rw, 201, map[string]any{"request_uri": name, "expires_in": 60})
}

// request returns the authorization request of a browser, nil if it is not allowed.
func (w *World) request(q url.Values) url.Values {
	name := q.Get("request_uri")
	if name == "" {
		if w.Metadata["require_pushed_authorization_requests"] == true {
			return nil
		}
		return q
	}
	pushed := w.pushed[name]
	delete(w.pushed, name) // it is valid once
	if len(q) != 2 || pushed.Get("client_id") != q.Get("client_id") {
		return nil
	}
	return pushed
}

// authorizeDevice begins a login on another device (RFC 8628).
func (w *World) authorizeDevice(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	w.asked = append(w.asked, "device")
	user := "USER-" + strconv.Itoa(len(w.asked))
	code := w.next("device")
	w.devices[code] = &device{userCode: user, scope: r.PostForm.Get("scope")}
	answer(rw, 200, map[string]any{
		"device_code": code, "user_code": user, "verification_uri": w.AS.URL + "/device", "interval": 0.1,
		"verification_uri_complete": w.AS.URL + "/device?user_code=" + user, "expires_in": 600,
	})
}

// agree is the page where the person types the code.
func (w *World) agree(rw http.ResponseWriter, r *http.Request) {
	for _, d := range w.devices {
		if d.userCode == r.URL.Query().Get("user_code") {
			d.agreed = true
			rw.WriteHeader(http.StatusOK)
			return
		}
	}
	http.NotFound(rw, r)
}

// deviceScope returns the scope of a device code, or why there is no token for it.
func (w *World) deviceScope(code string) (scope, refusal string) {
	d := w.devices[code]
	switch {
	case d == nil:
		return "", "invalid_grant"
	case !d.agreed:
		return "", "authorization_pending"
	}
	delete(w.devices, code)
	return d.scope, ""
}
