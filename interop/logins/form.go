package main

import (
	"context"
	"net/url"
)

type formKey struct{}

// withForm carries the form that a request posts to where its answer is noted.
func withForm(ctx context.Context, form url.Values) context.Context {
	return context.WithValue(ctx, formKey{}, form)
}

func formOf(ctx context.Context) url.Values {
	form, _ := ctx.Value(formKey{}).(url.Values)
	return form
}
