package login

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/server"

	autherrors "github.com/go-oauth2/oauth2/v4/errors"
)

// authorize is the page where a person logs in. Its buttons post to the same address.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if r.ParseForm() != nil {
		s.complain(w, errors.New("this form cannot be read"))
		return
	}
	asks, err := read(r.Form.Get("client_id"))
	if err == nil && !asks.allows(r.Form.Get("redirect_uri")) {
		err = errors.New("the program did not register the address where the browser would go")
	}
	if err != nil { // nothing of this request can be trusted, so nobody is sent anywhere
		s.complain(w, err)
		return
	}
	back := &server.AuthorizeRequest{ResponseType: oauth2.Code, RedirectURI: r.Form.Get("redirect_uri"), State: r.Form.Get("state")}
	req, err := s.core.ValidationAuthorizeRequest(r)
	user := r.PostForm.Get("user")
	switch {
	case err != nil:
		s.sendBack(w, back, s.failure(err))
	case !s.meant(r):
		s.sendBack(w, back, map[string]any{"error": invalidTarget, "error_description": "tokens are for " + s.opts.Resource})
	case r.Method == http.MethodGet:
		s.ask(w, asks, req)
	case user == "":
		s.sendBack(w, back, s.failure(autherrors.ErrAccessDenied))
	case !slices.Contains(s.opts.Users, user):
		s.complain(w, errors.New("there is no such user"))
	default:
		req.UserID, req.Scope = user, s.granted(req.Scope)
		code, err := s.core.GetAuthorizeToken(r.Context(), req)
		if err != nil {
			s.sendBack(w, back, s.failure(err))
			return
		}
		s.sendBack(w, req, s.core.GetAuthorizeData(req.ResponseType, code))
	}
}

// granted are the scopes of those asked for that there are.
func (s *Server) granted(asked string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(asked), func(scope string) bool { return !slices.Contains(s.opts.Scopes, scope) }), " ")
}

func (s *Server) failure(err error) map[string]any {
	data, _, _ := s.core.GetErrorData(err)
	return data
}

// sendBack sends the browser to the program that asks, with the issuer (RFC 9207).
func (s *Server) sendBack(w http.ResponseWriter, req *server.AuthorizeRequest, data map[string]any) {
	data["iss"] = s.opts.Issuer
	to, err := s.core.GetRedirectURI(req, data)
	if err != nil {
		s.complain(w, err)
		return
	}
	w.Header().Set("Location", to)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}

// complain shows a person why there is no login here.
func (s *Server) complain(w http.ResponseWriter, err error) {
	show(w, http.StatusBadRequest, "<p>This login is not possible: "+html.EscapeString(err.Error())+".</p>\n"+
		"<p>Begin it again in the program that sent you here.</p>\n")
}

// ask shows the buttons.
func (s *Server) ask(w http.ResponseWriter, who *client, req *server.AuthorizeRequest) {
	var b strings.Builder
	fmt.Fprintf(&b, "<p><b>%s</b> wants to use <b>%s</b> in your name.</p>\n", html.EscapeString(cmp.Or(who.Name, "A program")), html.EscapeString(s.opts.Resource))
	if scopes := s.granted(req.Scope); scopes != "" {
		fmt.Fprintf(&b, "<p>It asks for: %s</p>\n", html.EscapeString(scopes))
	}
	fmt.Fprintf(&b, "<p>Your browser then goes to %s.</p>\n<form method=\"post\">\n", html.EscapeString(req.RedirectURI))
	for _, user := range s.opts.Users {
		name := html.EscapeString(user)
		fmt.Fprintf(&b, "<button name=\"user\" value=\"%s\">Log in as %s</button>\n", name, name)
	}
	b.WriteString("<button>Refuse</button>\n</form>\n")
	show(w, http.StatusOK, b.String())
}

func show(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "same-origin") // without a referrer, browsers send no usable Origin with the form
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Log in</title>\n<h1>Log in to the reference server</h1>\n%s</html>\n", body)
}
