package clientdriver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
)

// Method is the Call of a method of the client that takes the params of a request and
// returns its result. Numbers of arguments keep their digits, as [json.Number], where P has
// no type for them.
//
// # Experimental
func Method[P, R any](method func(context.Context, *P) (R, error)) Call {
	return func(ctx context.Context, s *Step) (any, error) {
		params, err := decode[P](s.Request())
		if err != nil {
			return nil, err
		}
		return method(ctx, params)
	}
}

// Action is Method without a result.
//
// # Experimental
func Action[P any](method func(context.Context, *P) error) Call {
	return Method(func(ctx context.Context, params *P) (any, error) { return nil, method(ctx, params) })
}

// LogLevel is Action for logging/setLevel. The stateless era does not have that method: there
// every later [Step.Request] names the level.
//
// # Experimental
func LogLevel[P any](set func(context.Context, *P) error) Call {
	return func(ctx context.Context, s *Step) (any, error) {
		if s.level == nil {
			return Action(set)(ctx, s)
		}
		var params struct{ Level string }
		err := json.Unmarshal(s.Params, &params)
		*s.level = params.Level
		return nil, err
	}
}

// List is the Call of a method that walks a list over all of its pages. member is that of
// the result with the items, such as "tools".
//
// # Experimental
func List[P, T any](member string, walk func(context.Context, *P) iter.Seq2[T, error]) Call {
	return Method(func(ctx context.Context, params *P) (any, error) {
		items := []T{}
		for item, err := range walk(ctx, params) {
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return map[string]any{member: items}, nil
	})
}

// Answer is a handler of the client for a request of the server, which answers as a member
// of [Answers] says. It is nil if raw is, so that the client does not declare the feature.
//
// # Experimental
func Answer[Q, R any](raw json.RawMessage) func(context.Context, Q) (*R, error) {
	if raw == nil {
		return nil
	}
	return func(context.Context, Q) (*R, error) { return decode[R](raw) }
}

// Code is a [Session].Describe that takes the code from the client's type of a JSON-RPC
// error.
//
// # Experimental
func Code[E error](code func(E) int64) func(error, *Failure) {
	return func(err error, f *Failure) {
		if e, ok := errors.AsType[E](err); ok {
			f.Code = code(e)
		}
	}
}

func decode[T any](raw json.RawMessage) (*T, error) {
	v := new(T)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return v, d.Decode(v)
}
