package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// The one person of every server.
const personName, personPassword = "ada", "secret"

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	inputTag   = regexp.MustCompile(`<input[^>]*>`)
	nameOf     = regexp.MustCompile(` name="([^"]*)"`)
	valueOf    = regexp.MustCompile(` value="([^"]*)"`)
	pageAt     = regexp.MustCompile(`https?://[^\s"]*[?&]client_id=[^\s"]+`)
)

// walk logs in at a page: it follows redirects and posts the forms. It returns the
// address at the program that the browser ends at, which it does not open.
func walk(ctx context.Context, page string) (string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer browser.CloseIdleConnections()
	at, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	origin := at.Host
	var fields url.Values
	for range 20 {
		if at.Host != origin {
			return at.String(), nil
		}
		text, location, err := visit(ctx, browser, at, fields)
		if err != nil {
			return "", err
		}
		fields = nil
		if location == "" {
			if location, fields, err = fill(text); err != nil {
				return "", fmt.Errorf("%s: %w", at.Path, err)
			}
		}
		if at, err = at.Parse(location); err != nil {
			return "", err
		}
	}
	return "", errors.New("the login leads nowhere")
}

// visit opens a page, or posts a form to it.
func visit(ctx context.Context, browser *http.Client, at *url.URL, fields url.Values) (text, location string, err error) {
	method, body := http.MethodGet, ""
	if fields != nil {
		method, body = http.MethodPost, fields.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), strings.NewReader(body))
	if err != nil {
		return "", "", err
	}
	req.Header.Set("Accept", "text/html")
	if fields != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", at.Scheme+"://"+at.Host)
	}
	resp, err := browser.Do(req)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", "", err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return "", "", fmt.Errorf("%s answers %s: %.500s", at.Path, resp.Status, page)
	}
	return string(page), resp.Header.Get("Location"), nil
}

// fill returns where the form of a page goes, and what the person enters.
func fill(page string) (action string, fields url.Values, err error) {
	found := formAction.FindStringSubmatch(page)
	if found == nil {
		return "", nil, fmt.Errorf("no form: %.500s", page)
	}
	fields = url.Values{}
	for _, input := range inputTag.FindAllString(page, -1) {
		name := nameOf.FindStringSubmatch(input)
		if name == nil {
			continue
		}
		switch value := valueOf.FindStringSubmatch(input); {
		case value != nil:
			fields.Set(name[1], html.UnescapeString(value[1]))
		case name[1] == "password":
			fields.Set(name[1], personPassword)
		default:
			fields.Set(name[1], personName)
		}
	}
	return html.UnescapeString(found[1]), fields, nil
}
